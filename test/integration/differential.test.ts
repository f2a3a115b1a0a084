// The same lines, once to a server and once to the proxy in front of it: the
// answers are the same bytes, but for the documented edits, which are applied
// here to the direct answer by hand.

import { strict as assert } from 'node:assert'
import { mkdirSync, realpathSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { limits } from '../../src/index.js'
import type { RawClient } from './support/client.js'
import { assertSame, at, listAt, parsed, textAt } from './support/json.js'
import { libraryProxy } from './support/library.js'
import {
  type ServerEntry,
  everything,
  everythingArgs,
  filesystem,
  filesystemArgs,
} from './support/programs.js'
import { type Scope, scratch, spawnProgram } from './support/spawned.js'
import { HANG_MS } from './support/waiting.js'

const REVISION = '2025-11-25'

/** A call as a client of the server itself makes it: method, params, and the key of the name to edit. */
interface Line {
  readonly method: string
  readonly params: string
}

const call = (name: string, args = '{}', more = ''): Line => ({
  method: 'tools/call',
  params: `{"name":"${name}","arguments":${args}${more}}`,
})

/** The public form of a request: its name with the service in front. */
function toPublic(service: string, { method, params }: Line): string {
  if (method === 'tools/call' || method === 'prompts/get')
    return params.replace('"name":"', `"name":"${service}__`)
  return params.replace('"ref/prompt","name":"', `"ref/prompt","name":"${service}__`)
}

/** The public list of one server: names and marks are edited in the raw text. */
function toPublicList(service: string, text: string): string {
  const list = parsed(text)
  const tools = listAt(list, 'result', 'tools')
  let edited = text
  for (const item of [...tools, ...listAt(list, 'result', 'prompts')]) {
    const name = textAt(item, 'name')
    edited = edited.replace(
      `"name":${JSON.stringify(name)},`,
      `"name":${JSON.stringify(`${service}__${name}`)},`,
    )
  }
  for (const item of tools) {
    const description = JSON.stringify(textAt(item, 'description')).slice(1, -1)
    edited = edited.replace(`"description":"${description}`, `"description":"[${service}] ${description}`)
  }
  return edited
}

const lists = ['tools/list', 'prompts/list', 'resources/list', 'resources/templates/list']

async function compare(
  service: string,
  direct: RawClient,
  proxied: RawClient,
  lines: readonly Line[],
): Promise<void> {
  let id = 1000
  for (const line of lines) {
    const own = JSON.stringify(++id)
    const send = (to: RawClient, params: string): Promise<{ text: string; value: unknown }> => {
      const answer = to.answer(id)
      to.send(`{"jsonrpc":"2.0","id":${own},"method":"${line.method}","params":${params}}`)
      return answer
    }
    const [wanted, got] = [await send(direct, line.params), await send(proxied, toPublic(service, line))]
    assertSame(got.text, normalised(service, line.method, wanted), `${line.method} ${line.params}`)
  }
}

/** A server that has no such list answers with an error; the proxy's list of it is empty. */
function normalised(
  service: string,
  method: string,
  { text, value }: { text: string; value: unknown },
): string {
  if (!lists.includes(method)) return text
  if (at(value, 'error') === undefined) return withResultLast(toPublicList(service, text), value)
  const key = { 'tools/list': 'tools', 'prompts/list': 'prompts', 'resources/list': 'resources' }[method]
  return `{"jsonrpc":"2.0","id":${JSON.stringify(at(value, 'id'))},"result":{"${key ?? 'resourceTemplates'}":[]}}`
}

/** A list is a message of the proxy's own, whose members stand in its own order. */
function withResultLast(text: string, value: unknown): string {
  const id = JSON.stringify(at(value, 'id'))
  const result = text.slice(text.indexOf('"result":') + '"result":'.length)
  const tail = `,"jsonrpc":"2.0","id":${id}}`
  const object = result.endsWith(tail) ? result.slice(0, -tail.length) : result.slice(0, -1)
  return `{"jsonrpc":"2.0","id":${id},"result":${object}}`
}

/** The result of `initialize` waits for every server. */
const patient = { limits: { ...limits, initializeGraceMs: HANG_MS } }

async function pair(
  t: Scope,
  service: string,
  entry: ServerEntry,
  args: readonly string[],
): Promise<[RawClient, RawClient]> {
  const { client: direct } = spawnProgram(t, process.execPath, args)
  const more = { argumentChecks: 'off', startupGraceMs: HANG_MS }
  const { attach } = await libraryProxy(t, { [service]: { ...entry, timeout: HANG_MS } }, patient, more)
  const { client: proxied } = await attach()
  const opened = await Promise.all([direct, proxied].map((client) => client.open({}, REVISION)))
  for (const result of opened) assert.equal(textAt(result, 'protocolVersion'), REVISION)
  assert.equal(textAt(opened[1], 'instructions'), textAt(opened[0], 'instructions').trim())
  for (const name of ['tools', 'prompts', 'resources', 'logging', 'completions', 'tasks']) {
    const [has, shows] = opened.map((result) => at(result, 'capabilities', name) !== undefined)
    assert.equal(shows, has, name)
  }
  return [direct, proxied]
}

const everythingLines: readonly Line[] = [
  ...lists.map((method) => ({ method, params: '{}' })),
  call('echo', '{"message":"h\\u00e9llo \\ud83d\\ude00 é"}'),
  call('echo', '{"message":"a","extra":1E2,"message":"b"}'),
  call('echo', '{"message":7}'),
  call('echo'),
  call('get-sum', '{"a":1.0,"b":2e1}'),
  call('get-annotated-message', '{"messageType":"error","includeImage":true}'),
  call('get-annotated-message', '{"messageType":"success"}'),
  call('get-annotated-message', '{"messageType":"nope"}'),
  call('get-resource-links', '{"count":3}'),
  call('get-structured-content', '{"location":"New York"}'),
  call('get-structured-content', '{"location":"Chicago"}', ',"_meta":{"k":1.0}'),
  call('get-tiny-image'),
  call('trigger-long-running-operation', '{"duration":0.05,"steps":2}'),
  { method: 'prompts/get', params: '{"name":"simple-prompt"}' },
  { method: 'prompts/get', params: '{"name":"args-prompt","arguments":{"city":"K\\u00f6ln","state":"é"}}' },
  { method: 'prompts/get', params: '{"name":"args-prompt"}' },
  {
    method: 'prompts/get',
    params: '{"name":"completable-prompt","arguments":{"department":"Sales","name":"Bob"}}',
  },
  { method: 'resources/read', params: '{"uri":"demo://resource/static/document/features.md"}' },
  { method: 'resources/read', params: '{"uri":"demo://resource/static/document/nope.md"}' },
  { method: 'resources/subscribe', params: '{"uri":"demo://resource/dynamic/text/1"}' },
  { method: 'resources/unsubscribe', params: '{"uri":"demo://resource/dynamic/text/1"}' },
  {
    method: 'completion/complete',
    params:
      '{"ref":{"type":"ref/prompt","name":"completable-prompt"},"argument":{"name":"department","value":"S"}}',
  },
  {
    method: 'completion/complete',
    params:
      '{"ref":{"type":"ref/resource","uri":"demo://resource/dynamic/text/{resourceId}"},"argument":{"name":"resourceId","value":"1"}}',
  },
]

function filesystemLines(folder: string): readonly Line[] {
  const path = JSON.stringify(join(folder, 'a é.txt'))
  return [
    { method: 'tools/list', params: '{}' },
    { method: 'resources/list', params: '{}' },
    call('list_allowed_directories'),
    call('read_text_file', `{"path":${path}}`),
    call('read_text_file', `{"path":${path},"head":2}`),
    call('read_text_file', '{"path":"/etc/passwd"}'),
    call('list_directory', `{"path":${JSON.stringify(folder)}}`),
    call('directory_tree', `{"path":${JSON.stringify(folder)}}`),
    call('search_files', `{"path":${JSON.stringify(folder)},"pattern":"**/*.txt"}`),
    call('edit_file', `{"path":${path},"edits":[{"oldText":"one","newText":"1.0"}],"dryRun":true}`),
    call('read_file', '{"path":1}'),
    call('read_file'),
  ]
}

describe('through the proxy and directly', { concurrency: 2 }, () => {
  test('everything', async (t) => {
    const [direct, proxied] = await pair(t, 'everything', everything, everythingArgs)
    await compare('everything', direct, proxied, everythingLines)
  })
  test('filesystem', async (t) => {
    const folder = realpathSync(scratch(t))
    writeFileSync(join(folder, 'a é.txt'), 'one\ntwo\r\nthree\u2028four "quoted" \\ \u0007\n')
    mkdirSync(join(folder, 'sub'))
    writeFileSync(join(folder, 'sub', 'b.txt'), '')
    const [direct, proxied] = await pair(t, 'fs', filesystem(folder), filesystemArgs(folder))
    await compare('fs', direct, proxied, filesystemLines(folder))
  })
})
