// Each schema has its own servers, and nothing of one is seen in another: on stdio and over HTTP.

import { strict as assert } from 'node:assert'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { pathToFileURL } from 'node:url'
import { RawClient } from './support/client.js'
import { at, textAt } from './support/json.js'
import { type ServerEntry, cli, program } from './support/programs.js'
import { type Scope, type Spawned, scratch, spawnProgram } from './support/spawned.js'
import { until } from './support/waiting.js'
import { message, messageIn, send } from '../transports/support/http.js'

const lists = ['tools/list', 'prompts/list', 'resources/templates/list', 'resources/list']

/** A server that notes that it was started. */
function noting(name: string, file: string, started: string): ServerEntry {
  const note = `require('node:fs').appendFileSync(${JSON.stringify(started)}, ${JSON.stringify(`${name}\n`)})`
  const code = `${note}; import(${JSON.stringify(pathToFileURL(program(file)).href)})`
  return { command: process.execPath, args: ['-e', code] }
}

/** Three schemas, of which one is not enabled, each with a server of tools and one of prompts. */
function configured(scope: Scope) {
  const folder = scratch(scope)
  const started = join(folder, 'started')
  writeFileSync(started, '')
  const schema = (name: string, more: ServerEntry = {}) => ({
    ...more,
    mcpServers: {
      [`${name}Tools`]: noting(name, 'echo.mjs', started),
      [`${name}Prompts`]: noting(name, 'prompts.mjs', started),
    },
  })
  const schemas = {
    default: schema('first'),
    workspace: schema('second'),
    off: schema('third', { enabled: false }),
  }
  const config = join(folder, 'config.json')
  writeFileSync(config, JSON.stringify({ schemas }))
  return { config, started: () => readFileSync(started, 'utf8').trimEnd().split('\n') }
}

function assertOnly(own: string, answers: readonly string[]): void {
  const all = answers.join('\n')
  for (const name of [`${own}Tools__echo`, `${own}Prompts__review`]) assert(all.includes(name), name)
  for (const name of ['first', 'second', 'third'].filter((each) => each !== own))
    assert.equal(all.includes(name), false, `${name} in ${own}: ${all}`)
}

async function listsOf(client: RawClient): Promise<string[]> {
  const heard = await Promise.all(lists.map((method) => client.request(method)))
  return heard.map(({ text }) => text)
}

describe('--stdio', () => {
  const cases: [string, readonly string[], string, string][] = [
    ['without --schema serves default', [], 'first', 'secondTools__echo'],
    ['--schema workspace serves that', ['--schema', 'workspace'], 'second', 'firstTools__echo'],
  ]
  for (const [title, args, own, foreign] of cases)
    test(`${title}, starts nothing else, and shows nothing else`, async (t) => {
      const { config, started } = configured(t)
      const spawned = spawnProgram(t, process.execPath, [cli, '--stdio', '--config', config, ...args])
      const { client } = spawned
      const opened = JSON.stringify(await client.open())
      assertOnly(own, [opened, ...(await listsOf(client))])
      const refused = await client.call(foreign)
      assert.equal(at(refused.value, 'error', 'code'), -32601)
      assert(!JSON.stringify(at(refused.value, 'error', 'data') ?? null).includes(foreign), refused.text)
      assert.equal(at((await client.call(`${own}Tools__echo`)).value, 'error'), undefined)
      assert.equal(await spawned.finish(), 0)
      assert.deepEqual(started(), [own, own])
    })
})

/** The port, once it listens. */
async function portOf(spawned: Spawned): Promise<number> {
  const port = (): string | undefined => /http:\/\/127\.0\.0\.1:(\d+)/.exec(spawned.stderr)?.[1]
  await until(() => port() !== undefined)
  return Number(port())
}

test('--http serves every enabled schema at its path, with its own names, and starts no other', async (t) => {
  const { config, started } = configured(t)
  const args = [cli, '--http', '--port', '0', '--config', config]
  const spawned = spawnProgram(t, process.execPath, args)
  t.after(() => spawned.child.kill('SIGTERM'))
  const port = await portOf(spawned)
  for (const [own, path, foreign] of [
    ['first', '/mcp', 'secondTools__echo'],
    ['second', '/api/workspace/mcp', 'firstTools__echo'],
  ] as const) {
    const answers = await Promise.all(lists.map((method) => send(port, { path, body: message(method, 1) })))
    assertOnly(
      own,
      answers.map(({ body }) => body),
    )
    const call = message('tools/call', 2, { name: foreign, arguments: {} })
    const refused = messageIn((await send(port, { path, body: call })).body)
    assert.match(textAt(refused, 'error', 'message'), /not found/)
    assert(!JSON.stringify(at(refused, 'error', 'data') ?? null).includes(foreign))
  }
  assert.equal((await send(port, { path: '/api/off/mcp', body: message('tools/list', 1) })).status, 404)
  spawned.child.kill('SIGTERM')
  assert.equal(await spawned.exited, 0)
  assert.deepEqual(started().toSorted(), ['first', 'first', 'second', 'second'])
})
