// Reading the beginning of a stream, whose rest is for somebody else.

import type { Buffer } from 'node:buffer'
import type { Readable } from 'node:stream'

/** What was looked for, and the bytes that stay in the stream. */
interface Found<T> {
  readonly found: T
  readonly rest: Buffer
}

/** Undefined when the stream ends before `look` has found anything; rejects when `look` throws. The stream stands still then. */
export function readUntil<T>(
  input: Readable,
  look: (chunk: Buffer) => Found<T> | undefined,
): Promise<T | undefined> {
  return new Promise((resolve, reject) => {
    const stop = (): void => {
      input.off('data', take).off('end', none).off('close', none)
      input.pause()
    }
    const none = (): void => {
      stop()
      resolve(undefined)
    }
    const take = (chunk: Buffer): void => {
      try {
        const found = look(chunk)
        if (found === undefined) return
        stop()
        if (found.rest.length > 0) input.unshift(found.rest)
        resolve(found.found)
      } catch (error) {
        stop()
        reject(error)
      }
    }
    // It stands still where somebody has read before.
    input.on('data', take).on('end', none).on('close', none).resume()
  })
}
