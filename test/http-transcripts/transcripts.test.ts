// Transcripts of HTTP: requests, statuses, header fields and events of the front. Each uses a separate gateway.

import assert from 'node:assert/strict'
import { readdirSync } from 'node:fs'
import { basename, join } from 'node:path'
import { describe, it } from 'node:test'
import { root, serving } from '../replay/support.js'
import { replayHttp, replayLines } from './replay-http.js'

const folder = join(root, 'test/http-transcripts')

describe('transcripts of HTTP', () => {
  for (const name of readdirSync(folder).filter((each) => each.endsWith('.jsonl')))
    it(basename(name, '.jsonl'), (t) => replayHttp(t, join(folder, name)))
})

describe('a transcript that differs fails', () => {
  const ask = '{"dir":"in","request":"POST /mcp","frame":{"jsonrpc":"2.0","id":1,"method":"none"}}'
  const cases: readonly [string, readonly string[], RegExp][] = [
    ['in its status', [ask, '{"dir":"out","status":202}'], /line 3: .*the status is 200, not 202/],
    [
      'in a field',
      [ask, '{"dir":"out","status":200,"headers":{"Content-Type":"text/plain"},"body":"any"}'],
      /line 3: .*content-type: \$ is another value/,
    ],
    [
      'in its body',
      [ask, '{"dir":"out","status":200,"frame":{"jsonrpc":"2.0","id":1,"result":{}}}'],
      /line 3: .*body: \$\.result is missing/,
    ],
    ['in a body that no line mentions', [ask], /line 2: response with HTTP 200 .* is not expected/],
    [
      'in an event that does not come',
      [ask, '{"dir":"out","event":"message","text":""}'],
      /line 3: .*a response with HTTP 200/,
    ],
  ]
  for (const [title, lines, want] of cases)
    it(title, async (t) => {
      const origin = await serving(t, (_request, response) => {
        response.setHeader('content-type', 'application/json')
        response.end('{"jsonrpc":"2.0","id":1,"error":{}}')
      })
      await assert.rejects(
        replayLines(
          ['{"mcps":1}', ...lines].map((line) => Buffer.from(line)),
          new URL(`${origin}/mcp`),
        ),
        want,
      )
    })
})
