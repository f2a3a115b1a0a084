// `--record`: every frame of every hop, as the operating system saw it, one JSON line each.
//
// A line embeds the frame's own bytes, so it can be read, replayed, and turned back
// into what crossed the wire. What cannot be embedded, since it is no JSON or holds
// line breaks of its own, stands there as text or in base64; nothing is left out.

import { Buffer } from 'node:buffer'
import { type FileHandle, open } from 'node:fs/promises'
import process from 'node:process'
import { ConfigError } from '../config/problems.js'
import type { TransportError } from '../jsonrpc/errors.js'
import type { WireEvent, WireTap } from '../jsonrpc/wire-tap.js'
import { errorText } from '../text/error-text.js'
import { type Claim, claimFile } from './claim.js'
import { recordHead, recordMessage } from './line.js'
import { RecordStream } from './stream.js'
import { RecordWriter } from './writer.js'

/** The header of a recording. */
export interface RecordMeta {
  /** For people. */
  readonly command: string
  /** The arguments of the proxy, with which a replay starts it again. */
  readonly args?: readonly string[]
}

export interface OpenRecord {
  /** Where it is written: another name than the one that was given while another process records there. */
  readonly file: string
  /** Throws once the recording has a gap, which closes the connection. */
  readonly tap: WireTap
  /** Writes what is left. @throws TransportError when that or anything before it failed */
  close(): Promise<void>
}

/** How every recording begins. */
const HEAD = Buffer.from('{"mcps":')

/**
 * Opens a recording and writes its header; a recording that is there already is continued by another one, and while
 * another process writes it, this one has a file of its own.
 *
 * `failed` is called once, when the recording has a gap.
 *
 * @throws ConfigError when the file cannot be written, or is something else than a recording
 */
export async function openRecord(
  file: string,
  meta: RecordMeta,
  failed: (error: TransportError) => void = () => {},
): Promise<OpenRecord> {
  const claim = claimed(file)
  const release = (): void => claim.release()
  process.once('exit', release)
  const released = (): void => {
    process.off('exit', release)
    release()
  }
  try {
    const handle = await openFile(claim.file, headerLine(meta))
    const recorder = new Recorder(new RecordWriter(claim.file, handle, failed))
    const wire: WireTap['wire'] = (event) => recorder.wire(event)
    return { file: claim.file, tap: { wire }, close: () => recorder.close().finally(released) }
  } catch (error) {
    released()
    throw error
  }
}

function claimed(file: string): Claim {
  try {
    return claimFile(file)
  } catch (error) {
    throw unwritable(file, error)
  }
}

/** The revision is not known yet; the frames say it. */
function headerLine({ command, args }: RecordMeta): string {
  const header = { mcps: 1, recorded: true, at: new Date().toISOString(), command, ...(args && { args }) }
  return `${JSON.stringify(header)}\n`
}

async function openFile(file: string, header: string): Promise<FileHandle> {
  let handle: FileHandle | undefined
  try {
    handle = await open(file, 'a+', 0o600)
    await refuseOther(handle)
    // Payloads are nobody else's business, also when the file was there.
    await handle.chmod(0o600)
    await handle.appendFile(header)
    return handle
  } catch (error) {
    await handle?.close()
    throw unwritable(file, error)
  }
}

function unwritable(file: string, error: unknown): ConfigError {
  const problem = `the recording cannot be written: ${errorText(error)}`
  return new ConfigError('CONFIG_INVALID', '--record', [{ path: file, problem, hint: 'name another file' }])
}

/** A slip of the hand must not append to somebody's configuration. */
async function refuseOther(handle: FileHandle): Promise<void> {
  if (!(await handle.stat()).isFile()) throw new Error('it is not a regular file')
  const start = Buffer.alloc(HEAD.length)
  const { bytesRead } = await handle.read(start, 0, start.length, 0)
  if (bytesRead > 0 && !start.equals(HEAD)) throw new Error('it exists and is no recording')
}

/** Cuts what crosses each connection into frames, and writes a line for each. */
class Recorder {
  readonly #writer: RecordWriter
  readonly #streams = new Map<string, RecordStream>()

  constructor(writer: RecordWriter) {
    this.#writer = writer
  }

  wire(event: WireEvent): void {
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

  /** What began a line and did not end it was read or written all the same. */
  close(): Promise<void> {
    for (const stream of this.#streams.values()) stream.end()
    return this.#writer.close()
  }
}
