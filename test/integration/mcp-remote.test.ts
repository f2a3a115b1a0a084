// mcp-remote between a client on stdio and the HTTP front: with a session, and with the revision that has none.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { RawClient } from './support/client.js'
import { at, listAt, textAt } from './support/json.js'
import { missing, remoteProgram, serverProgram } from './support/sdk-v2.js'
import { type Scope, scratch, spawnProgram } from './support/spawned.js'
import { until } from './support/waiting.js'
import { gatewayOf } from './support/gateway.js'

const servers = Object.fromEntries(
  ['new', 'old'].map((mode) => [mode, { command: process.execPath, args: [serverProgram, mode] }]),
)
const isChange = (value: unknown): boolean => at(value, 'method') === 'notifications/tools/list_changed'
const textOf = (value: unknown): string => textAt(value, 'result', 'content', 0, 'text')

/** A client of an older revision that answers every question. */
async function person(t: Scope, protocol: string): Promise<RawClient> {
  const gateway = await gatewayOf(t, { mcpServers: servers })
  const way = ['--allow-http', '--transport', 'http-only', '--protocol', protocol]
  const env = { ...process.env, HOME: scratch(t) }
  const { client } = spawnProgram(t, process.execPath, [remoteProgram, `${gateway.origin}/mcp`, ...way], {
    env,
  })
  client.onRequest = (method, params) =>
    JSON.stringify(
      method === 'elicitation/create'
        ? { action: 'accept', content: { name: textAt(params, 'message') } }
        : { model: 'm', role: 'assistant', content: { type: 'text', text: 'by the client' } },
    )
  await client.open({ sampling: {}, elicitation: { form: {} } }, '2025-11-25')
  await client.request('logging/setLevel', { level: 'info' })
  return client
}

describe('mcp-remote in front of the gateway', { skip: missing }, () => {
  for (const protocol of ['legacy', 'auto'])
    test(`--protocol ${protocol}`, async (t) => {
      const client = await person(t, protocol)
      const names = async (): Promise<string[]> =>
        listAt((await client.request('tools/list')).value, 'result', 'tools').map((tool) =>
          textAt(tool, 'name'),
        )
      const call = async (name: string, args: object = {}, meta?: object): Promise<string> =>
        textOf((await client.call(name, args, meta)).value)
      for (const server of Object.keys(servers)) {
        assert((await names()).includes(`${server}__echo`))
        assert.equal(await call(`${server}__echo`, { text: 'é' }), 'echo é')
        assert.equal(await call(`${server}__elicit`), 'elicited Who?')
        assert.equal(await call(`${server}__rounds`), 'First? and Second?')
        assert.equal(await call(`${server}__sample`), 'sampled by the client')
        const before = client.heard.length
        assert.equal(await call(`${server}__log`), 'logged')
        await until(() =>
          client.heard.slice(before).some(({ value }) => textAt(value, 'params', 'data') === 'said'),
        )
        assert.equal(await call(`${server}__progress`, {}, { progressToken: server }), 'progressed')
        const steps = client.heard.filter(({ value }) => at(value, 'params', 'progressToken') === server)
        const progress = steps.map(({ value }) => at(value, 'params', 'progress'))
        assert.deepEqual(progress, [1, 2, 3])

        const changes = client.count(isChange)
        assert.equal(await call(`${server}__change`), 'changed')
        await until(() => client.count(isChange) > changes)
        assert((await names()).includes(`${server}__more`))

        // Of 2026-07-28 it sends a notification of the cancel, where the revision wants the response closed.
        if (protocol === 'auto') continue
        const isHanging = (p: unknown): boolean => at(p, 'progressToken') === `hang ${server}`
        const hanging = client.notification('notifications/progress', isHanging)
        const params = { name: `${server}__hang`, arguments: {}, _meta: { progressToken: `hang ${server}` } }
        client.post('tools/call', params, `hang ${server}`)
        await hanging
        client.notify('notifications/cancelled', { requestId: `hang ${server}` })
        while ((await call(`${server}__givenUp`)) === '0') continue
      }
    })
})
