// Bytes that no transport of ours would send, posted in the session of one that does.
//
// What comes back is taken for a message wherever it is one, whatever the status:
// a server says in JSON-RPC why it refuses a body.

import { type Line, joinLine } from '../jsonrpc/line.js'
import { frameOrError, isAnswerTo } from '../jsonrpc/frame.js'
import type { HttpAnswer } from '../transports/http-client/answer.js'
import { isCompressed, mediaType, readEvents, readWhole } from '../transports/http-client/body.js'
import { HttpExchange } from '../transports/http-client/exchange.js'
import { refused, unreachable } from '../transports/http-client/failure.js'
import { ACCEPT } from '../transports/http-client/post.js'
import type { HttpSession } from '../transports/http-client/session.js'
import { jsonTreeOf } from './json-tree.js'
import { addressOf } from './message.js'
import type { ServerOutput } from './server.js'

type Put = (said: ServerOutput) => void

/** Posts a body; `isBatch` says that its answers belong together, also when they come one by one. */
export function postRaw(body: Line, isBatch: boolean, session: HttpSession, put: Put): void {
  const { target, url } = session
  const fail = (why: string): void => put({ kind: 'failed', id: undefined, why })
  void new HttpExchange(
    session,
    { method: 'POST', url, accept: ACCEPT, body },
    {
      responded: (answer) => {
        session.learn(answer, false)
        if (isCompressed(answer)) fail('its answer is compressed, which was not asked for')
        else if (mediaType(answer) === 'text/event-stream') takeEvents(answer, isBatch, session, put)
        else takeBody(answer, session, put, fail)
      },
      troubled: (trouble) => fail(unreachable(target, trouble).message),
    },
  )
}

function takeBody(answer: HttpAnswer, { target }: HttpSession, put: Put, fail: (why: string) => void): void {
  const { status } = answer
  const { answerBytesMax, excerptBytesMax } = target.limits
  readWhole(answer, answerBytesMax, (body, why) => {
    const line = body?.line()
    if (line === undefined) return fail(`its answer (HTTP ${status}) was ${why ?? 'cut'}`)
    if (line.length === 0 && status < 300) return
    if (isSaid(line)) return put({ kind: 'message', bytes: line })
    fail(refused(target, { status, body: line.toString('utf8', 0, excerptBytesMax) }).message)
  })
}

function takeEvents(answer: HttpAnswer, isBatch: boolean, { target }: HttpSession, put: Put): void {
  const answers: Line[] = []
  const event = (type: string, data: Line): void => {
    if (type !== 'message') return
    if (isBatch && isAnswerTo(frameOrError(data))) answers.push(data)
    else put({ kind: 'message', bytes: data })
  }
  readEvents(answer, target.limits.sse, { event, oversize: ignore }, () => {
    if (answers.length > 0) put({ kind: 'message', bytes: together(answers) })
  })
}

function ignore(): void {}

/** The answers as one batch, as they would have come in a body of JSON. */
function together(answers: readonly Line[]): Line {
  const parts = answers.flatMap((answer, at) => [Buffer.from(at === 0 ? '[' : ','), answer])
  const all = [...parts, Buffer.from(']')]
  return joinLine(
    all,
    all.reduce((sum, { length }) => sum + length, 0),
  )
}

function isSaid(line: Line): boolean {
  const { kind } = addressOf(jsonTreeOf(line))
  return kind !== 'value' && kind !== 'bytes'
}
