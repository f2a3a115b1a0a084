// Reads the body of a response, and the header fields about it.

import { Buffer } from 'node:buffer'
import type { LongLine } from '../../jsonrpc/long-line.js'
import type { Line } from '../../jsonrpc/line.js'
import type { HttpAnswer } from '../http1/client.js'
import { UnfinishedLine, withoutMark } from '../unfinished-line.js'

/** `body` is undefined if the body was cut (`error` may say why) or is longer than allowed. */
type Done = (body: Line | LongLine | undefined, why: 'cut' | 'too-large' | undefined, error?: Error) => void

export function readWhole(answer: HttpAnswer, bytesMax: number, done: Done): void {
  const body = new UnfinishedLine()
  const tooLarge = (): void => {
    answer.drop()
    done(undefined, 'too-large')
  }
  if (Number(answer.fields.get('content-length') ?? 0) > bytesMax) return tooLarge()
  answer.reader = {
    data: (chunk) => (body.bytes + chunk.length <= bytesMax ? body.add(chunk) : tooLarge()),
    end: () => done(withoutMark(body.end()), undefined),
    cut: (error) => done(undefined, 'cut', error),
  }
}

/** The number of bytes read of a body that is not an answer. */
export const EXCERPT_BYTES_MAX: number = 16 * 1024

/** Reads the beginning of a body as text, and drops the remaining bytes. A compressed body is read as empty. */
export function readExcerpt(answer: HttpAnswer, done: (text: string) => void): void {
  const parts: Buffer[] = []
  let bytes = 0
  const shown = compression(answer) === undefined ? EXCERPT_BYTES_MAX : 0
  const finish = (): void => done(Buffer.concat(parts).subarray(0, shown).toString('utf8'))
  answer.reader = {
    data: (chunk) => {
      parts.push(chunk)
      bytes += chunk.length
      if (bytes < EXCERPT_BYTES_MAX) return
      answer.drop()
      finish()
    },
    end: finish,
    cut: finish,
  }
}

export function mediaType(answer: HttpAnswer): string {
  const [type = ''] = (answer.fields.get('content-type') ?? '').split(';', 1)
  return type.trim().toLowerCase()
}

/** The coding of a compressed body, which no request accepts (RFC 9110, section 8.4); undefined without one. */
export function compression(answer: HttpAnswer): string | undefined {
  const codings = answer.fields.all('content-encoding').join(', ')
  return /^[\s,]*(?:identity[\s,]*)*$/i.test(codings) ? undefined : codings
}

/** `Retry-After` in seconds (RFC 9110, section 10.2.3). A date is ignored, because two clocks may differ. */
export function retryAfterMs(answer: HttpAnswer): number | undefined {
  const wait = answer.fields.get('retry-after') ?? ''
  return /^\d{1,9}$/.test(wait) ? Number(wait) * 1000 : undefined
}
