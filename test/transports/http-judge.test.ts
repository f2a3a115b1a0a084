// Whoever is injected decides how requests are served; the transport does what it says.

import assert from 'node:assert'
import { describe, test } from 'node:test'
import { transportRefused } from '../../src/mcp/error-codes.js'
import type { PostedMessage } from '../../src/transports/http-server/body.js'
import type { RequestJudge } from '../../src/transports/http-server/endpoint.js'
import { type Front, type Scope, front, handshake, message, send } from './support/http.js'

/** What it was asked to judge, and how it judges that. */
interface Judging {
  readonly judged: PostedMessage[]
  judgement: ReturnType<RequestJudge['judge']>
  sessionId: RequestJudge['sessionId']
}

function newJudging(): Judging {
  return { judged: [], judgement: 'opening', sessionId: (head) => head.get('mcp-session-id') }
}

function judgedFront(scope: Scope, judging: Judging): Promise<Front> {
  return front(scope, {
    judge: () => ({
      isStateless: () => false,
      judgeStateless: () => undefined,
      statusOf: () => 200,
      sessionId: (head) => judging.sessionId(head),
      refuses: () => undefined,
      judge: (posted) => {
        judging.judged.push(posted)
        return judging.judgement
      },
    }),
  })
}

describe('a judge of requests', () => {
  test('a refusal is said, and no client is attached', async (t) => {
    const judging = newJudging()
    judging.judgement = { status: 418, error: transportRefused('no tea') }
    const { port, sessions } = await judgedFront(t, judging)
    const { status, body } = await send(port, { body: message('echo', 7), headers: { 'x-mine': 'a' } })
    assert.equal(status, 418)
    assert.match(body, /no tea/)
    assert.equal(sessions.length, 0)
    assert.deepEqual(judging.judged.at(0)?.keys, ['7'])
    assert.equal(judging.judged.at(0)?.head.get('x-mine'), 'a')
  })

  test('a session is opened for any message that is said to open one', async (t) => {
    const judging = newJudging()
    const { port } = await judgedFront(t, judging)
    const { status, headers } = await send(port, { body: message('echo', 1) })
    assert.equal(status, 200)
    assert.equal(typeof headers['mcp-session-id'], 'string')
  })

  test('a message stands alone beside the session that its head names', async (t) => {
    const judging = newJudging()
    const { port, sessions } = await judgedFront(t, judging)
    const fields = await handshake(port)
    judging.sessionId = () => undefined
    judging.judgement = 'alone'
    const version = { 'mcp-protocol-version': 'of tomorrow' }
    const answer = await send(port, { body: message('echo', 1), headers: { ...fields, ...version } })
    assert.equal(answer.status, 200)
    assert.equal(answer.headers['mcp-session-id'], undefined)
    assert.deepEqual(
      sessions.map(({ version: said }) => said),
      [undefined, 'of tomorrow'],
    )
  })
})
