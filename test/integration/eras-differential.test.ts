// The same requests to servers directly and in each combination of client and server: every member that differs stands
// in the tables here, and every message is its input with edits for the reasons of its combination.

import { strict as assert } from 'node:assert'
import { describe, test } from 'node:test'
import type { ForwardEvent } from '../../src/index.js'
import type { Heard, RawClient } from './support/client.js'
import { at, parsed } from './support/json.js'
import { libraryProxy } from './support/library.js'
import { program } from './support/programs.js'
import { type Scope, spawnProgram } from './support/spawned.js'

const key = (name: string): string => `io.modelcontextprotocol/${name}`
const claim = {
  [key('protocolVersion')]: '2026-07-28',
  [key('clientCapabilities')]: {},
  [key('clientInfo')]: { name: 'it', version: '1' },
  [key('logLevel')]: 'error',
}
const trace = { traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01' }

/** Of a client or a server: whether it knows sessions. */
type Era = 'old' | 'new'
/** Client and server. */
type Cell = `${Era} ${Era}`

const isTree = (value: unknown): boolean =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const inMeta = (sign: string, ...names: readonly string[]): string[] =>
  names.map((name) => `${sign} _meta|${key(name)}`)

/** What differs, as `+ path`, `- path` or `~ path`. */
function differences(before: unknown, after: unknown, path = ''): string[] {
  if (before === undefined && after === undefined) return []
  if (before === undefined) return [`+ ${path}`]
  if (after === undefined) return [`- ${path}`]
  if (!isTree(before) || !isTree(after))
    return JSON.stringify(before) === JSON.stringify(after) ? [] : [`~ ${path}`]
  const names = new Set([...Object.keys(Object(before)), ...Object.keys(Object(after))])
  return [...names].flatMap((name) =>
    differences(at(before, name), at(after, name), path === '' ? name : `${path}|${name}`),
  )
}

/** One request of a client of the server itself. */
interface Case {
  readonly method: string
  readonly params: Readonly<Record<string, unknown>>
}

const call = (name: string, args: object = {}): Case => ({
  method: 'tools/call',
  params: { name, arguments: args },
})
const read = (uri: string): Case => ({ method: 'resources/read', params: { uri } })
const complete = (name: string): Case => ({
  method: 'completion/complete',
  params: { ref: { type: 'ref/prompt', name }, argument: { name: 'arg1', value: 'pa' } },
})

const referenceCases: readonly Case[] = [
  call('test_simple_text'),
  call('test_image_content', { odd: [1, null, 'é', { a: [] }] }),
  call('test_multiple_content_types'),
  call('test_error_handling'),
  call('json_schema_2020_12_tool', { name: 'n', contactMethod: 'email', email: 'e' }),
  { method: 'prompts/get', params: { name: 'test_simple_prompt' } },
  {
    method: 'prompts/get',
    params: { name: 'test_prompt_with_arguments', arguments: { arg1: 'a', arg2: 'é' } },
  },
  read('test://static-text'),
  read('test://static-binary'),
  read('test://template/7/data'),
  read('test://nothing'),
  complete('test_prompt_with_arguments'),
]

const typedCases: readonly Case[] = [
  call('meta'),
  call('list'),
  call('fails'),
  call('refuses', { code: -32001 }),
  call('refuses', { code: -32021, data: { requiredCapabilities: { roots: {} } } }),
  { method: 'prompts/get', params: { name: 'p' } },
  read('typed:///a'),
  read('typed:///none'),
  complete('p'),
]

/** What a server gets otherwise than the client of the cell has written it. */
function requestTable(cell: Cell, { method, params }: Case): string[] {
  const named = 'name' in params ? ['~ name'] : method === 'completion/complete' ? ['~ ref|name'] : []
  switch (cell) {
    case 'old old':
    case 'new new':
      return named
    case 'new old':
      return [...named, ...inMeta('-', 'protocolVersion', 'clientCapabilities', 'clientInfo', 'logLevel')]
    case 'old new':
      return [...named, ...inMeta('+', 'protocolVersion', 'clientCapabilities', 'clientInfo')]
  }
}

/** What a client gets otherwise than its server has answered, by what that was. */
function answerTable(cell: Cell, { method }: Case, direct: unknown): string[] {
  const isRead = method === 'resources/read'
  const code = at(direct, 'error', 'code')
  const isError = code !== undefined
  switch (cell) {
    case 'old old':
    case 'new new':
      return []
    case 'new old':
      if (isError) return code === -32002 ? ['~ error|code'] : []
      return ['+ result|resultType', ...(isRead ? ['+ result|ttlMs', '+ result|cacheScope'] : [])]
    case 'old new': {
      // Numbers that the older revisions do not have: a tool has failed.
      if (code === -32021) return ['- error', '+ result']
      if (isError) return isRead ? ['~ error|code'] : []
      const info = key('serverInfo')
      const isAlone = Object.keys(Object(at(direct, 'result', '_meta'))).length === 1
      const has = (name: string): boolean => at(direct, 'result', name) !== undefined
      return [
        '- result|resultType',
        ...(isRead ? ['- result|ttlMs', '- result|cacheScope'] : []),
        ...(at(direct, 'result', '_meta', info) === undefined
          ? []
          : [`- result|_meta${isAlone ? '' : `|${info}`}`]),
        ...(has('structuredContent') ? ['~ result|structuredContent'] : []),
      ]
    }
  }
}

const always = ['id', 'name', 'progress-token']
const reasons: Readonly<Record<Cell, readonly string[]>> = {
  'old old': always,
  'new new': always,
  'new old': [...always, 'meta', 'result-type', 'cache-hint', 'error-code'],
  'old new': [...always, 'meta', 'result-type', 'cache-hint', 'error-code', 'structured-wrap'],
}

/** What is forwarded, as whoever holds the edits has it. */
function recomputed({ input, edits }: ForwardEvent): Buffer {
  const parts: Uint8Array[] = []
  let from = 0
  for (const { start, end, bytes } of edits) {
    parts.push(input.subarray(from, start), bytes)
    from = end
  }
  return Buffer.concat([...parts, input.subarray(from)])
}

const metaOf = (era: Era): object => (era === 'new' ? { ...claim, ...trace } : trace)
const withMeta = (era: Era, params: object): object => ({ ...params, _meta: metaOf(era) })

/** The public name, where there is one. */
function publicParams({ params }: Case, service: string): Record<string, unknown> {
  const { name, ref } = params
  return {
    ...params,
    ...(typeof name === 'string' && { name: `${service}__${name}` }),
    ...(ref !== undefined && { ref: { type: 'ref/prompt', name: `${service}__${String(at(ref, 'name'))}` } }),
  }
}

async function directly(t: Scope, file: string, era: Era): Promise<RawClient> {
  const { client } = spawnProgram(t, process.execPath, [program(file)])
  if (era === 'old') await client.open({}, '2025-11-25')
  return client
}

const without = ({ value }: Heard): unknown => ({ result: at(value, 'result'), error: at(value, 'error') })

interface Server {
  readonly file: string
  readonly era: Era
  readonly cases: readonly Case[]
}

const servers: Readonly<Record<string, Server>> = {
  sessions: { file: 'reference.mjs', era: 'old', cases: referenceCases },
  none: { file: 'reference-stateless.mjs', era: 'new', cases: referenceCases },
  typed: { file: 'typed.mjs', era: 'new', cases: typedCases },
}

describe('a request directly and through the proxy', () => {
  for (const [service, { file, era: serverEra, cases }] of Object.entries(servers))
    for (const clientEra of ['old', 'new'] as const) {
      const cell: Cell = `${clientEra} ${serverEra}`
      test(`${cell}, ${file}`, async (t) => {
        const direct = await directly(t, file, serverEra)
        const forwarded: { to: string; input: unknown; output: unknown; whys: string[] }[] = []
        const forward = (event: ForwardEvent): void => {
          assert.deepEqual(Buffer.from(event.output), recomputed(event))
          const whys = event.edits.map(({ why }) => why)
          const [input, output] = [event.input, event.output].map((bytes) =>
            parsed(Buffer.from(bytes).toString()),
          )
          forwarded.push({ to: event.to.hop, input, output, whys })
        }
        const entry = { command: process.execPath, args: [program(file)], argumentChecks: 'off' }
        const { attach } = await libraryProxy(t, { [service]: entry }, { tap: { forward } })
        const { client } = await attach()
        if (clientEra === 'old') await client.open({}, '2025-11-25')
        await client.request('tools/list', withMeta(clientEra, {}))
        for (const each of cases) {
          const what = `${each.method} ${JSON.stringify(each.params)}`
          const wanted = without(await direct.request(each.method, withMeta(serverEra, each.params)))
          forwarded.length = 0
          const sent = withMeta(clientEra, publicParams(each, service))
          const got = without(await client.request(each.method, sent))
          const request = forwarded.find(({ output }) => at(output, 'method') === each.method)
          assert.deepEqual(
            differences(sent, at(request?.output, 'params')).sort(),
            requestTable(cell, each).sort(),
            what,
          )
          // What only a server of the client's own era has said differs by that alone.
          if (each.params['name'] !== 'meta')
            assert.deepEqual(
              differences(wanted, got).sort(),
              answerTable(cell, each, wanted).sort(),
              `${what}: ${JSON.stringify([wanted, got])}`,
            )
          for (const { whys } of forwarded)
            for (const why of whys) assert(reasons[cell].includes(why), `${what}: ${why}`)
        }
      })
    }
})
