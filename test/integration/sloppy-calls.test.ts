// Calls as models make them, once to a server and once to the proxy in front of it: what the server takes, the proxy
// passes with the same answer; what both would refuse is refused in the proxy's words.

import { strict as assert } from 'node:assert'
import { realpathSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import type { RawClient } from './support/client.js'
import { at, textAt } from './support/json.js'
import { libraryProxy } from './support/library.js'
import {
  type ServerEntry,
  everything,
  everythingArgs,
  filesystem,
  filesystemArgs,
  memory,
  memoryArgs,
} from './support/programs.js'
import { type Scope, scratch, spawnProgram } from './support/spawned.js'

/** What becomes of a call: the server takes it, the proxy refuses it, or the proxy leaves that to the server. */
type Fate = 'taken' | 'refused here' | 'refused there'

type Call = readonly [tool: string, args: string, fate: Fate]

const everythingCalls: readonly Call[] = [
  ['echo', '{}', 'refused here'],
  ['echo', '{"message":7}', 'refused there'],
  ['echo', '{"message":null}', 'refused here'],
  ['echo', '{"message":"x","extra":1}', 'taken'],
  ['echo', 'null', 'refused here'],
  ['get-sum', '{"a":"1","b":"2"}', 'refused there'],
  ['get-sum', '{"a":1,"b":2,"c":3}', 'taken'],
  ['get-sum', '{"a":1}', 'refused here'],
  ['get-sum', '{"a":"x","b":1}', 'refused here'],
  ['get-sum', '{"a":null,"b":1}', 'refused here'],
  ['get-annotated-message', '{"messageType":"error","includeImage":"true"}', 'refused there'],
  ['get-annotated-message', '{"messageType":"ERROR"}', 'refused here'],
  ['get-resource-links', '{}', 'taken'],
  ['get-resource-links', '{"count":"0"}', 'refused there'],
  ['get-resource-links', '{"count":null}', 'refused there'],
  ['get-structured-content', '{"location":"Berlin"}', 'refused here'],
  ['get-tiny-image', '{"random_string":""}', 'taken'],
]

const filesystemCalls: readonly Call[] = [
  ['list_allowed_directories', '{"path":"."}', 'taken'],
  ['read_text_file', '{"path":"a.txt","head":"1"}', 'refused there'],
  ['read_text_file', '{"path":["a.txt"]}', 'refused here'],
  ['read_text_file', '{"file":"a.txt"}', 'refused here'],
  ['read_multiple_files', '{"paths":"a.txt"}', 'refused here'],
  ['read_multiple_files', '{"paths":"[\\"a.txt\\"]"}', 'refused there'],
  ['read_multiple_files', '{"paths":[]}', 'refused here'],
  ['directory_tree', '{"path":".","excludePatterns":"*.txt"}', 'refused here'],
  ['edit_file', '{"path":"a.txt","edits":{"oldText":"one","newText":"1"}}', 'refused here'],
]

const memoryCalls: readonly Call[] = [
  ['search_nodes', '{"query":7}', 'refused there'],
  ['search_nodes', '{"query":"x","limit":5}', 'taken'],
  ['search_nodes', '{}', 'refused here'],
  ['open_nodes', '{"names":"x"}', 'refused here'],
  ['create_entities', '{"entities":[{"name":"a","entityType":"t"}]}', 'refused here'],
  ['create_entities', '{"entities":[{"name":"a","entityType":"t","observations":[],"id":1}]}', 'taken'],
  ['read_graph', '{"random_string":"x"}', 'taken'],
  ['delete_entities', '{"entityNames":null}', 'refused here'],
]

/** What an answer says, but for the time of day. */
function outcome(answer: unknown): string {
  const content = at(answer, 'error') ?? at(answer, 'result')
  return JSON.stringify(content).replaceAll(/\d{4}-\d\d-\d\dT[\d:+-]+/g, 'now')
}

/** Whether a server says that it was the arguments. */
function isRefusal(answer: unknown): boolean {
  return /Input validation error|Invalid arguments|expected record/.test(
    JSON.stringify(answer).replaceAll('\\', ''),
  )
}

function isOurRefusal(answer: unknown): boolean {
  return (
    at(answer, 'error', 'code') === -32602 &&
    textAt(answer, 'error', 'message').startsWith('Invalid params: ')
  )
}

function fateOf(direct: unknown, proxied: unknown): Fate {
  if (!isRefusal(direct)) return 'taken'
  return isOurRefusal(proxied) ? 'refused here' : 'refused there'
}

async function compare(direct: RawClient, proxied: RawClient, calls: readonly Call[]): Promise<void> {
  let id = 1000
  for (const [tool, args, fate] of calls) {
    id++
    const ask = async (client: RawClient, name: string): Promise<unknown> => {
      const answer = client.answer(id)
      const params = `{"name":"${name}","arguments":${args}}`
      client.send(`{"jsonrpc":"2.0","id":${id},"method":"tools/call","params":${params}}`)
      return (await answer).value
    }
    const [wanted, got] = [await ask(direct, tool), await ask(proxied, `s__${tool}`)]
    assert.equal(fateOf(wanted, got), fate, `${tool} ${args}: ${outcome(wanted)} but ${outcome(got)}`)
    if (fate !== 'refused here') assert.equal(outcome(got), outcome(wanted), `${tool} ${args}`)
  }
}

async function pair(
  t: Scope,
  entry: ServerEntry,
  args: readonly string[],
  env: NodeJS.ProcessEnv = {},
): Promise<[RawClient, RawClient]> {
  const { client: direct } = spawnProgram(t, process.execPath, args, { env: { ...process.env, ...env } })
  const { client: proxied } = await (await libraryProxy(t, { s: entry })).attach()
  await Promise.all([direct, proxied].map((client) => client.open({}, '2025-06-18')))
  return [direct, proxied]
}

describe('sloppy calls', { concurrency: 2 }, () => {
  test('to everything', async (t) => {
    await compare(...(await pair(t, everything, everythingArgs)), everythingCalls)
  })
  test('to filesystem', async (t) => {
    const folder = realpathSync(scratch(t))
    await compare(...(await pair(t, filesystem(folder), filesystemArgs(folder))), filesystemCalls)
  })
  test('to memory', async (t) => {
    const folder = scratch(t)
    const env = { MEMORY_FILE_PATH: join(folder, 'direct.jsonl') }
    const servers = await pair(t, memory(join(folder, 'proxied.jsonl')), memoryArgs, env)
    await compare(...servers, memoryCalls)
  })
})
