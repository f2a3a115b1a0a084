// Servers of version 2 of the official library behind clients of versions 1 and 2, each in every way that it can speak.

import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { after, before, describe, test } from 'node:test'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import {
  CreateMessageRequestSchema,
  ElicitRequestSchema,
  LoggingMessageNotificationSchema,
  ToolListChangedNotificationSchema,
} from '@modelcontextprotocol/sdk/types.js'
import { listAt, textAt } from './support/json.js'
import { type ServerEntry, cli } from './support/programs.js'
import { type CallOptions, clientLibrary, missing, serverProgram, stdioLibrary } from './support/sdk-v2.js'
import { type Scope, type Servers, configFile, scratch } from './support/spawned.js'
import { until } from './support/waiting.js'
import { gatewayOf } from './support/gateway.js'

/** A client of any library. */
interface Person {
  readonly tools: () => Promise<readonly string[]>
  /** The text of the result; rejects when the call is given up. */
  readonly call: (name: string, args?: object, options?: CallOptions) => Promise<string>
  /** Notifications: log messages, and `changed`. */
  readonly told: readonly string[]
  /** Whether a level of the log holds for all its calls. */
  readonly setsLevel: boolean
}

/** The address or the command of the proxy. */
type Place = { readonly url: string } | { readonly args: readonly string[]; readonly env: NodeJS.ProcessEnv }

const capabilities = { sampling: {}, elicitation: { form: {} } }
const sampled = { model: 'm', role: 'assistant', content: { type: 'text', text: 'by the client' } } as const
/** A form is filled in with the question itself. */
const accepted = (message: string): { action: 'accept'; content: { name: string } } => ({
  action: 'accept',
  content: { name: message },
})

const stringEnv = (env: NodeJS.ProcessEnv): Record<string, string> =>
  Object.fromEntries(
    Object.entries(env).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
  )

async function ofVersion1(t: Scope, place: Place): Promise<Person> {
  const told: string[] = []
  const client = new Client({ name: 'one', version: '1' }, { capabilities })
  client.setRequestHandler(CreateMessageRequestSchema, () => sampled)
  client.setRequestHandler(ElicitRequestSchema, ({ params }) => accepted(params.message))
  client.setNotificationHandler(
    LoggingMessageNotificationSchema,
    ({ params }) => void told.push(String(params.data)),
  )
  client.setNotificationHandler(ToolListChangedNotificationSchema, () => void told.push('changed'))
  const program = 'args' in place && {
    command: process.execPath,
    args: [...place.args],
    stderr: 'ignore' as const,
  }
  await client.connect(
    'url' in place
      ? new StreamableHTTPClientTransport(new URL(place.url))
      : new StdioClientTransport({ command: '', ...program, env: stringEnv(place.env) }),
  )
  t.after(() => client.close())
  await client.setLoggingLevel('info')
  return {
    tools: async () => namesIn(await client.listTools()),
    call: async (name, args = {}, options = {}) =>
      said(await client.callTool({ name, arguments: { ...args } }, undefined, options)),
    told,
    setsLevel: true,
  }
}

const ofVersion2 =
  (mode: string | { readonly pin: string }) =>
  async (t: Scope, place: Place): Promise<Person> => {
    const { Client: Newer, StreamableHTTPClientTransport: Http } = await clientLibrary()
    const { StdioClientTransport: Stdio } = await stdioLibrary()
    const told: string[] = []
    const listChanged = { tools: { onChanged: () => void told.push('changed') } }
    const options = { capabilities, listChanged, versionNegotiation: { mode } }
    const client = new Newer({ name: 'two', version: '2' }, options)
    client.setRequestHandler('sampling/createMessage', () => sampled)
    client.setRequestHandler('elicitation/create', (request) =>
      accepted(textAt(request, 'params', 'message')),
    )
    client.setNotificationHandler(
      'notifications/message',
      (heard) => void told.push(textAt(heard, 'params', 'data')),
    )
    await client.connect(
      'url' in place
        ? new Http(new URL(place.url))
        : new Stdio({ command: process.execPath, stderr: 'ignore', ...place }),
    )
    t.after(() => client.close())
    const setsLevel = mode === 'legacy'
    if (setsLevel) await client.setLoggingLevel('info')
    return {
      tools: async () => namesIn(await client.listTools()),
      call: async (name, args = {}, more = {}) =>
        said(await client.callTool({ name, arguments: args }, more)),
      told,
      setsLevel,
    }
  }

const namesIn = (list: unknown): string[] => listAt(list, 'tools').map((tool) => textAt(tool, 'name'))
const said = (result: unknown): string => textAt(result, 'content', 0, 'text')

const clients: readonly (readonly [string, (t: Scope, place: Place) => Promise<Person>])[] = [
  ['version 1', ofVersion1],
  ['version 2 that begins with a handshake', ofVersion2('legacy')],
  ['version 2 that asks', ofVersion2('auto')],
  ['version 2 that speaks nothing but 2026-07-28', ofVersion2({ pin: '2026-07-28' })],
]

const modes = ['dual', 'new', 'old'] as const
const stdioServers = (env: object): Servers =>
  Object.fromEntries(
    modes.map((mode) => [`${mode}-stdio`, { command: process.execPath, args: [serverProgram, mode], env }]),
  )

/** The command on stdio in front of programs, and a gateway in front of remote servers. */
async function placeOf(t: Scope, servers: Servers): Promise<Place> {
  if ('dual-http' in servers) return { url: `${(await gatewayOf(t, { mcpServers: servers })).origin}/mcp` }
  const config = configFile(t, { ...servers })
  return { args: [cli, '--stdio', '--config', config], env: { ...process.env, HOME: scratch(t) } }
}

const calls: readonly (readonly [string, object, string])[] = [
  ['echo', { text: 'é' }, 'echo é'],
  ['elicit', {}, 'elicited Who?'],
  ['rounds', {}, 'First? and Second?'],
  ['sample', {}, 'sampled by the client'],
]

/** Everything that a server can do with a client, one thing after the other. */
async function use({ tools, call, told, setsLevel }: Person, server: string): Promise<void> {
  for (const [tool, args, wanted] of calls) assert.equal(await call(`${server}__${tool}`, args), wanted)
  const steps: number[] = []
  const onprogress = ({ progress }: { readonly progress: number }): void => void steps.push(progress)
  // The client library drops what comes in one piece with the answer, and on a busy machine much does, or all.
  while (steps.length === 0) assert.equal(await call(`${server}__progress`, {}, { onprogress }), 'progressed')
  assert.deepEqual(steps, [1, 2, 3].slice(0, steps.length))

  const before = told.length
  assert.equal(await call(`${server}__log`), 'logged')
  if (setsLevel) await until(() => told.slice(before).includes('said'))

  const more = `${server}__more`
  const had = (await tools()).includes(more)
  const changes = (): number => told.filter((each) => each === 'changed').length
  let heard = changes()
  assert.equal(await call(`${server}__change`), 'changed')
  do {
    // On a busy machine the first may still be of the server before.
    await until(() => changes() > heard)
    heard = changes()
  } while ((await tools()).includes(more) === had)

  const givenUp = async (): Promise<number> => Number(await call(`${server}__givenUp`))
  const ended = await givenUp()
  const controller = new AbortController()
  let isThere = false
  const options = { signal: controller.signal, onprogress: () => void (isThere = true) }
  const hanging = assert.rejects(call(`${server}__hang`, {}, options))
  await until(() => isThere)
  controller.abort()
  await hanging
  while ((await givenUp()) === ended) continue
  if (!setsLevel) assert.equal(told.includes('said'), false, 'who asks for no log messages gets none')
}

describe('servers of version 2', { skip: missing }, () => {
  const remote: Record<string, ServerEntry> = {}
  const processes: ChildProcess[] = []
  const folder = mkdtempSync(join(tmpdir(), 'mcps-sdk-'))
  before(async () => {
    for (const mode of modes) {
      const server = spawn(process.execPath, [serverProgram, mode, '--http'], {
        stdio: ['ignore', 'pipe', 'inherit'],
        env: { ...process.env, GIVEN_UP: join(folder, 'remote') },
      })
      processes.push(server)
      const [url]: unknown[] = await once(createInterface({ input: server.stdout }), 'line')
      remote[`${mode}-http`] = { type: 'http', url: String(url) }
    }
  })
  after(() => {
    for (const server of processes) server.kill()
    rmSync(folder, { recursive: true, force: true, maxRetries: 10 })
  })

  for (const place of ['stdio', 'Streamable HTTP'])
    for (const [client, connect] of clients)
      test(`behind a client of ${client}, over ${place} on both sides`, async (t) => {
        const servers = place === 'stdio' ? stdioServers({ GIVEN_UP: join(scratch(t), 'given-up') }) : remote
        const person = await connect(t, await placeOf(t, servers))
        for (const server of Object.keys(servers)) await use(person, server)
      })
})
