// The readers of the body of a response: a message, an event stream, or the beginning of anything else.

import { Buffer } from 'node:buffer'
import type { LongLine } from '../../jsonrpc/fast/long-line.js'
import type { Line } from '../../jsonrpc/line.js'
import type { HttpAnswer } from '../http1/client.js'
import { UnfinishedLine, withoutMark } from '../unfinished-line.js'

/** `undefined` when the body was cut, which `error` may be about, or is longer than allowed. */
type Done = (body: Line | LongLine | undefined, why: 'cut' | 'too-large' | undefined, error?: Error) => void

/** Reads a whole body. */
export function readWhole(answer: HttpAnswer, bytesMax: number, done: Done): void {
  if (Number(answer.get('content-length') ?? 0) > bytesMax) {
    answer.drop()
    return done(undefined, 'too-large')
  }
  const body = new UnfinishedLine()
  answer.readBy({
    data: (chunk) => {
      if (body.bytes + chunk.length <= bytesMax) return body.add(chunk)
      answer.drop()
      done(undefined, 'too-large')
    },
    end: () => done(withoutMark(body.end()), undefined),
    cut: (error) => done(undefined, 'cut', error),
  })
}

/** Reads the beginning of a body, for an error message. */
export function readExcerpt(answer: HttpAnswer, bytesMax: number, done: (text: string) => void): void {
  const parts: Buffer[] = []
  let bytes = 0
  const shown = isCompressed(answer) ? 0 : bytesMax
  const finish = (): void => done(Buffer.concat(parts).subarray(0, shown).toString('utf8'))
  answer.readBy({
    data: (chunk) => {
      parts.push(chunk)
      bytes += chunk.length
      if (bytes < bytesMax) return
      answer.drop()
      finish()
    },
    end: finish,
    cut: finish,
  })
}

/** Reads and forgets a body of which nothing is wanted, so that its connection can be used again. */
export function discard(answer: HttpAnswer, bytesMax: number): void {
  answer.spare()
  readExcerpt(answer, bytesMax, () => {})
}

/** Whether it is a stream of events that can be read. */
export function isEventStream(answer: HttpAnswer): boolean {
  return answer.status === 200 && mediaType(answer) === 'text/event-stream' && !isCompressed(answer)
}

/** The media type of a body, without its parameters. */
export function mediaType(answer: HttpAnswer): string {
  const [type = ''] = (answer.get('content-type') ?? '').split(';', 1)
  return type.trim().toLowerCase()
}

/** Whether the body is compressed, although every request asks for none (`Accept-Encoding: identity`). */
export function isCompressed(answer: HttpAnswer): boolean {
  return contentCodings(answer).length > 0
}

/** The codings of a body (RFC 9110, section 8.4). A response may have several fields, and a field several codings. */
export function contentCodings(answer: HttpAnswer): string[] {
  const said = answer.all('content-encoding').flatMap((field) => field.split(','))
  return said.map((coding) => coding.trim()).filter((coding) => !/^(?:identity)?$/i.test(coding))
}
