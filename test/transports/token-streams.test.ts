// When a stream ends by its token.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { RequestHead } from '../../src/transports/http1/head.js'
import { HttpResponse } from '../../src/transports/http1/response.js'
import type { Sender } from '../../src/transports/http-server/access.js'
import { TokenStreams } from '../../src/transports/http-server/token-streams.js'

type Found = Sender | 'unknown' | undefined

const until = (untilMs: number): Sender => ({ principal: 'ann', untilMs })
const DAYS_25_MS = 25 * 24 * 3_600_000

/** What each examination finds, when they are made, and the time at which the stream is cut. */
const cases: [title: string, untilMs: number, found: readonly Found[], atMs: number[], cutMs: number][] = [
  ['ends with its token', 1000, [undefined], [1000], 1000],
  ['goes on with a token that is valid for longer', 1000, [until(3000), undefined], [1000, 3000], 3000],
  ['ends in time where its token cannot be examined then', 1000, ['unknown'], [1000], 1000],
  [
    'is looked at before the longest time of a timer',
    DAYS_25_MS,
    [until(DAYS_25_MS), undefined],
    [2_147_483_647, DAYS_25_MS],
    DAYS_25_MS,
  ],
]

function opened(
  untilMs: number,
  found: readonly Found[],
): {
  streams: TokenStreams
  examinedMs: number[]
  cutMs: () => number | undefined
  pass: () => Promise<void>
} {
  let [nowMs, timer, cutMs]: [number, { atMs: number; fire: () => void } | undefined, number | undefined] = [
    0,
    undefined,
    undefined,
  ]
  const streams = new TokenStreams({
    wallNow: () => nowMs,
    setTimer: (delayMs, fire) => {
      timer = { atMs: nowMs + delayMs, fire }
      return { cancel: () => (timer = undefined) }
    },
    failed: (error) => assert.fail(String(error)),
  })
  const wire = { unsentBytes: 0, begin: () => '', write: () => {}, ended: () => {}, cutWhenStalled: () => {} }
  const cut = (): void => {
    cutMs = nowMs
    response.close()
  }
  const response = new HttpResponse({ ...wire, cut }, new RequestHead('GET / HTTP/1.1\r\nHost: a', 10))
  const examinedMs: number[] = []
  const examine = (): Promise<Found> => {
    examinedMs.push(nowMs)
    return Promise.resolve(found[examinedMs.length - 1])
  }
  streams.add({ response, sender: until(untilMs), examine })
  const pass = async (): Promise<void> => {
    nowMs = timer?.atMs ?? nowMs
    timer?.fire()
    await settled()
  }
  return { streams, examinedMs, cutMs: () => cutMs, pass }
}

const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

for (const [title, untilMs, found, atMs, endMs] of cases)
  test(`a stream ${title}`, async () => {
    const { examinedMs, cutMs, pass } = opened(untilMs, found)
    for (const _ of atMs) await pass()
    assert.deepEqual([examinedMs, cutMs()], [atMs, endMs])
  })

test('a stream goes on, within its time, while new rules cannot be examined', async () => {
  const { streams, examinedMs, cutMs, pass } = opened(12_000, ['unknown', 'unknown', 'unknown', 'unknown'])
  streams.examineAll()
  await settled()
  for (const _ of [1, 2, 3]) await pass()
  assert.deepEqual([examinedMs, cutMs()], [[0, 5000, 10_000, 12_000], 12_000])
})
