// When a stream ends by its token.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { RequestHead } from '../../src/transports/http1/head.js'
import { HttpResponse } from '../../src/transports/http1/response.js'
import type { Sender } from '../../src/transports/http-server/access.js'
import { TokenStreams } from '../../src/transports/http-server/token-streams.js'

const until = (untilMs: number): Sender => ({ principal: 'ann', untilMs })
/** The results of the checks, their times, and the time at which the stream is cut. */
const cases: [string, number, readonly (Sender | undefined)[], number[], number][] = [
  ['ends with its token', 1000, [undefined], [1000], 1000],
  ['goes on with a token that is valid for longer', 1000, [until(3000), undefined], [1000, 3000], 3000],
]

function opened(
  untilMs: number,
  found: readonly (Sender | undefined)[],
): {
  streams: TokenStreams
  examinedMs: number[]
  cutMs: () => number | undefined
  pass: (toMs: number) => Promise<void>
} {
  let nowMs = 0
  let cutMs: number | undefined
  const streams = new TokenStreams({ wallNow: () => nowMs, failed: (error) => assert.fail(String(error)) })
  const wire = { unsentBytes: 0, begin: () => '', write: () => {}, ended: () => {}, cutWhenStalled: () => {} }
  const cut = (): void => {
    cutMs = nowMs
    response.close()
  }
  const response = new HttpResponse({ ...wire, cut }, new RequestHead('GET / HTTP/1.1\r\nHost: a', 10))
  const examinedMs: number[] = []
  const examine = (): Promise<Sender | undefined> => {
    examinedMs.push(nowMs)
    return Promise.resolve(found[examinedMs.length - 1])
  }
  streams.add({ response, sender: until(untilMs), examine })
  const pass = async (toMs: number): Promise<void> => {
    while (nowMs < toMs) {
      nowMs += 500
      streams.sweep()
      await settled()
    }
  }
  return { streams, examinedMs, cutMs: () => cutMs, pass }
}

const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

for (const [title, untilMs, found, atMs, endMs] of cases)
  test(`a stream ${title}`, async () => {
    const { examinedMs, cutMs, pass } = opened(untilMs, found)
    await pass(5000)
    assert.deepEqual([examinedMs, cutMs()], [atMs, endMs])
  })
