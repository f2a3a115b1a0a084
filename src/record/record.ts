// `--record` writes every frame of every hop as one JSON line.
//
// A line contains the bytes of the frame, so people can read it and `replay` can restore the bytes on the wire.
// Bytes that are no JSON or contain line breaks become a string or base64. The recording leaves nothing out.

import { Buffer } from 'node:buffer'
import { fstatSync, writeFileSync } from 'node:fs'
import type { FileHandle } from 'node:fs/promises'
import { ConfigError } from '../config/problems.js'
import { LF } from '../jsonrpc/ascii.js'
import { TransportError } from '../jsonrpc/jsonrpc-errors.js'
import type { WireEvent, WireTap } from '../jsonrpc/wire-tap.js'
import { openToWrite } from '../runtime/write-file.js'
import { errorCode, errorText } from '../text/error-text.js'
import { type RecordLine, recordHead, recordLine, recordMessage } from './line.js'

export interface RecordMeta {
  readonly command: string
  /** The arguments of the proxy, with which a replay starts the proxy again. */
  readonly args?: readonly string[]
}

export interface RecordOptions {
  readonly replaces?: boolean
  /** Called once, when the recording has a gap. */
  readonly onGap?: (error: TransportError) => void
}

/**
 * Creates a recording and writes its header.
 *
 * @throws ConfigError if the file exists without `replaces`, or cannot be written
 */
export async function openRecord(
  file: string,
  meta: RecordMeta,
  { replaces = false, onGap = () => undefined }: RecordOptions = {},
): Promise<Recorder> {
  return new Recorder(file, await openFile(file, headerLine(meta), replaces), onGap)
}

/** The header has no revision, because the frames negotiate it later. */
function headerLine({ command, args }: RecordMeta): string {
  const header = { mcps: 1, recorded: true, at: new Date().toISOString(), command, ...(args && { args }) }
  return `${JSON.stringify(header)}\n`
}

async function openFile(file: string, header: string, replaces: boolean): Promise<FileHandle> {
  let handle: FileHandle | undefined
  try {
    handle = await openToWrite(file, replaces ? 'replace' : 'create')
    await handle.appendFile(header)
    return handle
  } catch (error) {
    await handle?.close()
    throw unwritable(file, error)
  }
}

function unwritable(file: string, error: unknown): ConfigError {
  const isThere = errorCode(error) === 'EEXIST'
  const problem = isThere ? 'exists already' : `cannot be written: ${errorText(error)}`
  const hint = isThere ? 'name another file, or add --force to replace it' : 'name another file'
  return new ConfigError('CONFIG_INVALID', '--record', [{ path: file, problem, hint }])
}

/**
 * Splits the bytes of each connection into frames, and writes one line for each frame, in order.
 *
 * The recorder writes a line before the proxy forwards the frame, so even a killed proxy loses none. After a
 * failed write, the recorder refuses everything: an audit that fails must not pass traffic.
 */
export class Recorder implements WireTap {
  readonly #file: string
  readonly #handle: FileHandle
  readonly #onGap: (error: TransportError) => void
  readonly #streams = new Map<string, RecordStream>()
  #failure: TransportError | undefined

  /** The recorder owns the handle, and calls `onGap` at most once. */
  constructor(file: string, handle: FileHandle, onGap: (error: TransportError) => void = () => {}) {
    this.#file = file
    this.#handle = handle
    this.#onGap = onGap
  }

  /** Throws if the recording has a gap. The error closes the connection. */
  readonly wire = (event: WireEvent): void => {
    if (this.#failure !== undefined) throw this.#failure
    // Over HTTP each request may have its own connection, so the recorder keeps no state for them.
    if (event.whole) return this.#write(recordMessage(recordHead(event, event.at), event.bytes))
    const key = `${event.connection} ${event.direction}`
    let stream = this.#streams.get(key)
    if (stream === undefined) {
      stream = new RecordStream(event, (line) => this.#write(line))
      this.#streams.set(key, stream)
    }
    stream.push(Buffer.from(event.bytes.buffer, event.bytes.byteOffset, event.bytes.length), event.at)
  }

  /**
   * Writes the unfinished lines, because their bytes crossed the wire too, and closes the file.
   *
   * @throws TransportError if this or an earlier write failed
   */
  async close(): Promise<void> {
    try {
      if (this.#failure !== undefined) throw this.#failure
      for (const stream of this.#streams.values()) stream.end()
    } finally {
      await this.#handle.close()
    }
  }

  #write(line: RecordLine): void {
    try {
      for (const part of line) writeFileSync(this.#handle.fd, part)
      // A write to a removed file succeeds, but the bytes are lost.
      if (fstatSync(this.#handle.fd).nlink === 0) throw new Error('the file was removed')
    } catch (error) {
      this.#fail(error)
    }
  }

  #fail(error: unknown): never {
    const message = `cannot record to ${this.#file}: ${errorText(error)}`
    this.#failure = new TransportError('TRANSPORT_TAP', message, { cause: error })
    this.#onGap(this.#failure)
    throw this.#failure
  }
}

/** The most bytes of an unfinished line in memory. The recorder writes a longer line in pieces. */
const LINE_BYTES_MAX = 64 * 1024 * 1024

/** Holds the unfinished line of one stream. */
export class RecordStream {
  readonly #write: (line: RecordLine) => void
  readonly #lineBytesMax: number
  readonly #event: Omit<WireEvent, 'at' | 'bytes'>
  #parts: Buffer[] = []
  #bytes = 0
  #at = 0

  constructor(
    event: Omit<WireEvent, 'at' | 'bytes'>,
    write: (line: RecordLine) => void,
    lineBytesMax: number = LINE_BYTES_MAX,
  ) {
    this.#event = event
    this.#write = write
    this.#lineBytesMax = lineBytesMax
  }

  /** Adds bytes that the proxy read or wrote at `at` milliseconds. */
  push(chunk: Buffer, at: number): void {
    this.#at = at
    let start = 0
    for (let end = chunk.indexOf(LF); end >= 0; end = chunk.indexOf(LF, start)) {
      this.#keep(chunk.subarray(start, end + 1))
      this.end()
      start = end + 1
    }
    // A copy, because the caller may overwrite the chunk.
    if (start < chunk.length) this.#keep(Buffer.from(chunk.subarray(start)))
    if (this.#bytes > this.#lineBytesMax) this.end()
  }

  end(): void {
    if (this.#bytes === 0) return
    const raw = Buffer.concat(this.#parts)
    this.#parts = []
    this.#bytes = 0
    this.#write(recordLine(recordHead(this.#event, this.#at), raw))
  }

  #keep(part: Buffer): void {
    this.#parts.push(part)
    this.#bytes += part.length
  }
}
