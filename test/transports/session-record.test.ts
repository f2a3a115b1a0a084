// The stored record of a session, with limits on what the client can put there.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readFrame } from '../../src/jsonrpc/frame.js'
import { toLine } from '../../src/jsonrpc/line.js'
import type { SessionNotes } from '../../src/transports/http-server/session-ids.js'
import { SessionRecord } from '../../src/transports/http-server/session-record.js'
import { message } from './support/http.js'

function notesOf(method: string, all: readonly object[]): SessionNotes | undefined {
  const written: SessionNotes[] = []
  const write = (_hash: string, notes: SessionNotes): unknown => written.push(notes)
  const book = { read: () => Promise.resolve(undefined), end: () => Promise.resolve(), write }
  const record = new SessionRecord(book, 'id')
  for (const params of all) record.note(readFrame(toLine(message(method, 1, params))))
  return written.at(-1)
}

const uris = (count: number, length: number): { uri: string }[] =>
  Array.from({ length: count }, (_, at) => ({ uri: `a://${at}/`.padEnd(length, 'x') }))

for (const [count, length, kept] of [
  [40, 2000, 32],
  [300, 20, 256],
  [1, 2049, undefined],
] as const)
  test(`the record of a session has ${kept} of ${count} subscriptions of ${length} characters`, () => {
    const all = uris(count, length)
    const last = kept && all.slice(-kept).map(({ uri }) => uri)
    assert.deepEqual(notesOf('resources/subscribe', all)?.subscriptions, last)
  })

test('the record of a session has the last log level that is one', () => {
  const levels = [{ level: 'error' }, { level: 'x'.repeat(100_000) }, { level: 7 }, {}]
  assert.equal(notesOf('logging/setLevel', levels)?.level, 'error')
  assert.equal(notesOf('logging/setLevel', levels.slice(1)), undefined)
})
