// Bodies that are compressed (RFC 9110, section 8.4.1): gzip, deflate and br, one of them at a time.
//
// None is asked for, since what stands on the way may hold events back to compress them; some servers
// compress all the same. A few bytes can become gigabytes, so what comes out is bounded as what comes
// uncompressed is. A whole body is decoded in one go, so that its connection is not used for another
// request before it is known what was in it.

import { Buffer } from 'node:buffer'
import type { Transform } from 'node:stream'
import { HttpSyntaxError } from '../http1/syntax-error.js'
import type { BodyConsumer, HttpAnswer } from './answer.js'
import { asError } from './trouble.js'

type Zlib = typeof import('node:zlib')

/** Loaded when a body is compressed, and at once, for its first bytes are there. */
function zlib(): Zlib {
  return process.getBuiltinModule('node:zlib')
}

/** The name of a coding that can be read. */
export type Coding = 'gzip' | 'deflate' | 'br'

/** Undefined for any other. */
export function codingNamed(name: string): Coding | undefined {
  const coding = name.toLowerCase().replace(/^x-gzip$/, 'gzip')
  return coding === 'gzip' || coding === 'deflate' || coding === 'br' ? coding : undefined
}

/** Undefined when it would be longer than `bytesMax`, an error when it is broken. */
export function decodeWhole(
  coding: Coding,
  parts: readonly Buffer[],
  bytesMax: number,
): Buffer | HttpSyntaxError | undefined {
  const bytes = Buffer.concat(parts)
  const { gunzipSync, inflateSync, inflateRawSync, brotliDecompressSync } = zlib()
  const options = { maxOutputLength: bytesMax }
  try {
    if (coding === 'gzip') return gunzipSync(bytes, options)
    if (coding === 'br') return brotliDecompressSync(bytes, options)
    return isWrapped(bytes) ? inflateSync(bytes, options) : inflateRawSync(bytes, options)
  } catch (error) {
    return error instanceof RangeError ? undefined : broken(coding, error)
  }
}

/** Reads a compressed stream for a reader of what is in it, which is told of each piece as soon as it is there. */
export class DecodedStream implements BodyConsumer {
  readonly #coding: Coding
  readonly #answer: HttpAnswer
  readonly #reader: BodyConsumer
  #decoder: Transform | undefined
  #isPaused = false
  #isOver = false

  constructor(coding: Coding, answer: HttpAnswer, reader: BodyConsumer) {
    this.#coding = coding
    this.#answer = answer
    this.#reader = reader
  }

  data(chunk: Buffer): void {
    if (this.#isOver) return
    this.#decoder ??= this.#newDecoder(chunk)
    // What the decoder has not taken is not to pile up before it.
    if (!this.#decoder.write(chunk)) this.#answer.hold(true)
  }

  end(): void {
    if (this.#decoder === undefined) this.#ends(undefined)
    else this.#decoder.end()
  }

  cut(error?: Error): void {
    if (this.#isOver) return
    this.dropped()
    this.#reader.cut(error)
  }

  paused(on: boolean): void {
    this.#isPaused = on
    if (on) this.#decoder?.pause()
    else this.#decoder?.resume()
  }

  dropped(): void {
    this.#isOver = true
    this.#decoder?.destroy()
  }

  #newDecoder(first: Buffer): Transform {
    const decoder = newDecoder(this.#coding, first)
    decoder.on('data', (chunk: Buffer) => {
      if (!this.#isOver) this.#reader.data(chunk)
    })
    decoder.on('drain', () => this.#answer.hold(false))
    decoder.on('end', () => this.#ends(undefined))
    decoder.on('error', (error) => this.#ends(broken(this.#coding, error)))
    if (this.#isPaused) decoder.pause()
    return decoder
  }

  #ends(error: Error | undefined): void {
    if (this.#isOver) return
    this.#isOver = true
    if (error === undefined) return this.#reader.end()
    this.#answer.drop()
    this.#reader.cut(error)
  }
}

function newDecoder(coding: Coding, first: Buffer): Transform {
  const { constants, createGunzip, createInflate, createInflateRaw, createBrotliDecompress } = zlib()
  if (coding === 'br') return createBrotliDecompress({ flush: constants.BROTLI_OPERATION_FLUSH })
  const options = { flush: constants.Z_SYNC_FLUSH }
  if (coding === 'gzip') return createGunzip(options)
  return isWrapped(first) ? createInflate(options) : createInflateRaw(options)
}

/** Some senders leave out what RFC 1950 puts around deflate. */
function isWrapped(bytes: Buffer): boolean {
  return ((bytes[0] ?? 0) & 0x0f) === 8
}

function broken(coding: Coding, error: unknown): HttpSyntaxError {
  return new HttpSyntaxError(`what is compressed with ${coding} is broken: ${asError(error).message}`)
}
