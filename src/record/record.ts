// `--record`: every frame of every hop, as the operating system saw it, one JSON line each.
//
// A line embeds the frame's own bytes, so it can be read, replayed, and turned back
// into the bytes on the wire. Bytes that cannot be embedded, because they are no JSON or hold
// line breaks, are written as text or in base64; nothing is left out.

import { Buffer } from 'node:buffer'
import { writeSync } from 'node:fs'
import type { FileHandle } from 'node:fs/promises'
import process from 'node:process'
import { ConfigError } from '../config/problems.js'
import { TransportError } from '../jsonrpc/jsonrpc-errors.js'
import type { WireEvent, WireTap } from '../jsonrpc/wire-tap.js'
import { openToWrite } from '../runtime/open-to-write.js'
import { errorCode, errorText } from '../text/error-text.js'
import { type RecordLine, recordHead, recordLine, recordMessage } from './line.js'

/** The header of a recording. */
export interface RecordMeta {
  /** For people. */
  readonly command: string
  /** The arguments of the proxy, with which a replay starts it again. */
  readonly args?: readonly string[]
}

export interface RecordOptions {
  /** Whether a file that exists is replaced. */
  readonly replaces?: boolean
  /** Called once, when the recording has a gap. */
  readonly onGap?: (error: TransportError) => void
}

/**
 * Creates a recording and writes its header.
 *
 * @throws ConfigError when the file exists and is not replaced, or cannot be written
 */
export async function openRecord(
  file: string,
  meta: RecordMeta,
  { replaces = false, onGap = () => undefined }: RecordOptions = {},
): Promise<Recorder> {
  const handle = await openFile(file, headerLine(meta), replaces)
  return new Recorder(new RecordWriter(file, handle, onGap))
}

/** The revision is not known yet; the frames name it. */
function headerLine({ command, args }: RecordMeta): string {
  const header = { mcps: 1, recorded: true, at: new Date().toISOString(), command, ...(args && { args }) }
  return `${JSON.stringify(header)}\n`
}

async function openFile(file: string, header: string, replaces: boolean): Promise<FileHandle> {
  let handle: FileHandle | undefined
  try {
    handle = await openToWrite(file, replaces ? 'replace' : 'create')
    // A recording holds payloads, so a replaced file becomes private too.
    await handle.chmod(0o600)
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

/** Cuts what crosses each connection into frames, and writes a line for each. */
export class Recorder implements WireTap {
  readonly #writer: RecordWriter
  readonly #streams = new Map<string, RecordStream>()

  constructor(writer: RecordWriter) {
    this.#writer = writer
  }

  /** Throws once the recording has a gap, which closes the connection. */
  readonly wire = (event: WireEvent): void => {
    this.#writer.check()
    // Over HTTP there may be a connection for each request, so nothing is kept of them.
    if (event.whole) return this.#writer.add(recordMessage(recordHead(event, event.at), event.bytes))
    const key = `${event.connection} ${event.direction}`
    let stream = this.#streams.get(key)
    if (stream === undefined) {
      stream = new RecordStream(event, (line) => this.#writer.add(line))
      this.#streams.set(key, stream)
    }
    stream.push(Buffer.from(event.bytes.buffer, event.bytes.byteOffset, event.bytes.length), event.at)
  }

  /**
   * Writes what is left: the beginning of a line that did not end crossed the wire too.
   *
   * @throws TransportError when that or anything before it failed
   */
  close(): Promise<void> {
    for (const stream of this.#streams.values()) stream.end()
    return this.#writer.close()
  }
}

/** Most bytes that are held of a line that has not ended; a longer line is written in pieces. */
const LINE_BYTES_MAX = 64 * 1024 * 1024

const LF = 0x0a

/** Holds the unfinished line of one stream. */
export class RecordStream {
  readonly #write: (line: RecordLine) => void
  readonly #lineBytesMax: number
  /** Names the connection of the lines. */
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

  /** Takes what was read or written at `at` milliseconds. */
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

  /** Writes what is held back, whether its line has ended or not. */
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

// Lines on their way into a recording.
//
// Lines are handed over in memory and written in turn, so that no frame waits for
// the disk. When writing fails, or falls too far behind, everything that is handed
// over afterwards is refused: an audit that fails must not pass traffic.

/** How long a line may stay in memory. */
const FLUSH_MS = 200

/** Most bytes that wait for a slow disk. */
const WAITING_BYTES_MAX = 256 * 1024 * 1024

/** Up to here, pieces are written together. */
const WRITE_BYTES = 1024 * 1024

/** Appends lines in order, one write at a time. */
export class RecordWriter {
  readonly #file: string
  readonly #handle: FileHandle
  readonly #failed: (error: TransportError) => void
  #waiting: Buffer[] = []
  #bytes = 0
  #timer: NodeJS.Timeout | undefined
  #writing: Promise<void> | undefined
  #failure: TransportError | undefined
  readonly #lastWords = (): void => this.#writeNow()

  /** The handle, opened to append, is this writer's from now on; `failed` is called at most once. */
  constructor(file: string, handle: FileHandle, failed: (error: TransportError) => void = () => {}) {
    this.#file = file
    this.#handle = handle
    this.#failed = failed
    process.on('exit', this.#lastWords)
  }

  /** @throws TransportError once the recording has a gap */
  check(): void {
    if (this.#failure !== undefined) throw this.#failure
  }

  /** Takes a line with its line end. @throws TransportError when it cannot be kept */
  add(line: RecordLine): void {
    for (const part of line) {
      this.#waiting.push(part)
      this.#bytes += part.length
    }
    if (this.#bytes > WAITING_BYTES_MAX) this.#fail(new Error('the disk takes it too slowly'))
    this.check()
    this.#timer ??= setTimeout(() => this.#flush(), FLUSH_MS).unref()
  }

  /** Writes what is left. @throws TransportError when that or anything before it failed */
  async close(): Promise<void> {
    process.off('exit', this.#lastWords)
    clearTimeout(this.#timer)
    await this.#writing
    await this.#append()
    await this.#handle.close()
    this.check()
  }

  #flush(): void {
    this.#timer = undefined
    this.#writing ??= this.#append().finally(() => {
      this.#writing = undefined
    })
  }

  /** Writes until nothing waits. */
  async #append(): Promise<void> {
    try {
      while (this.#waiting.length > 0 && this.#failure === undefined) {
        const bytes = this.#take()
        await this.#handle.appendFile(bytes)
        this.#bytes -= bytes.length
      }
      // Writing to a file that was removed succeeds, and the bytes are lost.
      if (this.#failure === undefined && (await this.#handle.stat()).nlink === 0)
        throw new Error('the file was removed')
    } catch (error) {
      this.#fail(error)
    }
  }

  /** Writes what is left when the process ends without `close`. */
  #writeNow(): void {
    if (this.#failure !== undefined) return
    try {
      while (this.#waiting.length > 0) writeSync(this.#handle.fd, this.#take())
    } catch {
      // The process ends, so the error cannot be reported.
    }
  }

  /** The next bytes to write: many small pieces, or one that is large. */
  #take(): Buffer {
    let count = 0
    for (let bytes = 0; count < this.#waiting.length; count++) {
      bytes += this.#waiting[count]?.length ?? 0
      if (bytes > WRITE_BYTES) break
    }
    const [first = EMPTY, ...others] = this.#waiting.splice(0, Math.max(1, count))
    return others.length === 0 ? first : Buffer.concat([first, ...others])
  }

  #fail(error: unknown): void {
    if (this.#failure !== undefined) return
    const why = errorText(error)
    const message = `cannot record to ${this.#file}: ${why}`
    this.#failure = new TransportError('TRANSPORT_TAP', message, { cause: error })
    this.#waiting = []
    this.#failed(this.#failure)
  }
}

const EMPTY = Buffer.alloc(0)
