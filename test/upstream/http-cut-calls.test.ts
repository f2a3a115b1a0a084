// A remote server may still work on a call whose connection was cut. Its questions then belong to that call.

import { strict as assert } from 'node:assert'
import type { ServerResponse } from 'node:http'
import { test } from 'node:test'
import { claim } from '../integration/support/claim.js'
import { at, numberAt, textAt } from '../integration/support/json.js'
import { libraryProxy } from '../integration/support/library.js'
import { INIT, TOOLS } from '../transports/support/one-tool.js'
import { type Scope, answerOf, events, json, scripted } from '../transports/support/scripted.js'

const QUESTION =
  '{"jsonrpc":"2.0","id":"q","method":"sampling/createMessage","params":{"messages":[],"maxTokens":1}}'

/** Asks a question during each call but the first, which `first` answers. The answer ends the call. */
async function asking(scope: Scope, first: (response: ServerResponse) => void) {
  let calls = 0
  let stream: ServerResponse | undefined
  let waiting: ((answer: string) => void) | undefined
  return scripted(scope, (seen, response) => {
    if (seen.rpc === 'initialize') json(response, answerOf(seen.id, INIT), 200, { 'mcp-session-id': 's' })
    else if (seen.rpc === 'tools/list') json(response, answerOf(seen.id, TOOLS))
    else if (seen.method === 'GET') {
      stream = response
      events(response, ': listening\n\n')
    } else if (seen.rpc === 'tools/call' && calls++ === 0) first(response)
    else if (seen.rpc === 'tools/call') {
      waiting = (answer) => json(response, answerOf(seen.id, `{"content":[],"told":${answer}}`))
      stream?.write(`data: ${QUESTION}\n\n`)
    } else {
      response.writeHead(202).end()
      if (seen.id === 'q') waiting?.(seen.body)
    }
  })
}

/** Two calls without a session: the error of the first, and the answer to the question of the second. */
async function twoCalls(scope: Scope, first: (response: ServerResponse) => void) {
  const { url } = await asking(scope, first)
  const { attach } = await libraryProxy(scope, { s: { url: url.href, retries: 0 } })
  const { client } = await attach({ isSeveral: true })
  const ended = (await client.call('s__work', {}, claim({ sampling: {} }))).value
  const { value } = await client.call('s__work', {}, claim({ sampling: {} }))
  return { ended, value, refusal: at(value, 'result', 'told', 'error', 'code') }
}

test('a call whose connection was cut may go on: no other client gets its questions', async (t) => {
  const { ended, refusal } = await twoCalls(t, (response) => response.destroy())
  assert.equal(textAt(ended, 'error', 'data', 'reason'), 'closed')
  assert.equal(refusal, -32601)
})

test('so may one of which a gateway had no answer in time', async (t) => {
  const { ended, refusal } = await twoCalls(t, (response) => response.writeHead(504).end())
  assert.equal(numberAt(ended, 'error', 'data', 'status'), 504)
  assert.equal(refusal, -32601)
})

test('what a server asks on the stream of a call that has timed out is asked in no other call', async (t) => {
  const twoTools = TOOLS.replace('[', '[{"name":"other","inputSchema":{"type":"object"}},')
  let first: ServerResponse | undefined
  const { url } = await scripted(t, (seen, response) => {
    if (seen.rpc === 'initialize') json(response, answerOf(seen.id, INIT), 200, { 'mcp-session-id': 's' })
    else if (seen.rpc === 'tools/list') json(response, answerOf(seen.id, twoTools))
    else if (seen.method === 'GET') response.writeHead(405).end()
    else if (seen.rpc !== 'tools/call') {
      response.writeHead(202).end()
      if (seen.id === 'q') second?.(seen.body)
    } else if (first === undefined) events((first = response), ': working\n\n')
    else {
      second = (told) => json(response, answerOf(seen.id, `{"content":[],"told":${told}}`))
      first.write(`data: ${QUESTION}\n\n`)
    }
  })
  let second: ((told: string) => void) | undefined
  const { attach } = await libraryProxy(t, { s: { url: url.href, retries: 0, timeout: 1000 } })
  const { client } = await attach()
  await client.open({ sampling: {} })
  assert.equal(textAt((await client.call('s__work')).value, 'error', 'data', 'reason'), 'timeout')
  const { value } = await client.call('s__other')
  assert.equal(at(value, 'result', 'told', 'error', 'code'), -32601)
})

test('one that the server has refused does not', async (t) => {
  const { ended, value } = await twoCalls(t, (response) => response.writeHead(500).end())
  assert.equal(numberAt(ended, 'error', 'data', 'status'), 500)
  assert.equal(textAt(value, 'result', 'resultType'), 'input_required')
})
