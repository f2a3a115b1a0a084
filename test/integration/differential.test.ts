// The same lines, once to a server and once to the proxy in front of it: the
// answers are the same bytes, but for the documented edits, which are applied
// here to the direct answer by hand.

import { strict as assert } from 'node:assert'
import { test } from 'node:test'
import { limits } from '../../src/index.js'
import type { RawClient } from './support/client.js'
import { assertSame, at, listAt, parsed, textAt } from './support/json.js'
import { libraryProxy } from './support/library.js'
import { everything, everythingArgs } from './support/programs.js'
import { type Scope, spawnProgram } from './support/spawned.js'
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
function toPublic({ method, params }: Line): string {
  if (method === 'tools/call' || method === 'prompts/get')
    return params.replace('"name":"', '"name":"everything__')
  return params.replace('"ref/prompt","name":"', '"ref/prompt","name":"everything__')
}

/** The public list of one server: names and marks are edited in the raw text. */
function toPublicList(text: string): string {
  const list = parsed(text)
  const tools = listAt(list, 'result', 'tools')
  let edited = text
  for (const item of [...tools, ...listAt(list, 'result', 'prompts')]) {
    const name = textAt(item, 'name')
    edited = edited.replace(`"name":"${name}",`, `"name":"everything__${name}",`)
  }
  for (const item of tools) {
    const description = JSON.stringify(textAt(item, 'description')).slice(1, -1)
    edited = edited.replace(`"description":"${description}`, `"description":"[everything] ${description}`)
  }
  return edited
}

const lists = ['tools/list', 'prompts/list', 'resources/list', 'resources/templates/list']

async function compare(direct: RawClient, proxied: RawClient, lines: readonly Line[]): Promise<void> {
  let id = 1000
  for (const line of lines) {
    const own = JSON.stringify(++id)
    const send = (to: RawClient, params: string): Promise<{ text: string; value: unknown }> => {
      const answer = to.answer(id)
      to.send(`{"jsonrpc":"2.0","id":${own},"method":"${line.method}","params":${params}}`)
      return answer
    }
    const [wanted, got] = [await send(direct, line.params), await send(proxied, toPublic(line))]
    const text = lists.includes(line.method)
      ? withResultLast(toPublicList(wanted.text), wanted.value)
      : wanted.text
    assertSame(got.text, text, `${line.method} ${line.params}`)
  }
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

async function pair(t: Scope): Promise<[RawClient, RawClient]> {
  const { client: direct } = spawnProgram(t, process.execPath, everythingArgs)
  const more = { argumentChecks: 'off', startupGraceMs: HANG_MS }
  const { attach } = await libraryProxy(t, { everything: { ...everything, timeout: HANG_MS } }, patient, more)
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

test('the answers of server-everything are the same through the proxy and directly', async (t) => {
  const [direct, proxied] = await pair(t)
  await compare(direct, proxied, everythingLines)
})
