// The book of one gateway: what the clients of its sessions have said, and which sessions they have ended.
//
// Nothing here is needed for a session to go on: without a folder, or on a full disk, a client subscribes and sets its log level
// again. Several processes with the same configuration may use the same file; each replaces it as a whole, with the entries of all.

import { createHash } from 'node:crypto'
import { parse, write } from '../jsonrpc/text.js'
import type { KeptFiles, LogSink, Runtime, Timer } from '../runtime/runtime.js'
import { errorText } from '../text/error-text.js'
import { isObject } from '../text/json-object.js'
import type { SessionBook, SessionNotes } from '../transports/http-server/session-ids.js'

/** The file holds the sessions of a week of a large team; beyond it the oldest entries go. */
const ENTRIES_MAX = 10_000
const BYTES_MAX = 4_194_304 // 4 MiB

/** A file is read again for a session that is not known only where the last look was so long ago. */
const LOOK_MS = 1000

/** Before a write, so that what comes together is written once; and between two writes. */
const FIRST_WAIT_MS = 500
const LATER_WAIT_MS = 10_000

const FORMAT = 1

export interface BookDisk {
  readonly files: KeptFiles
  readonly log: LogSink
  /** The configuration: the absolute path of its file, or what it is called. */
  readonly source: string
}

interface Entry {
  readonly atMs: number
  readonly notes: SessionNotes | 'ended'
}

/** In memory, and in one file where there is a folder. */
export class MemoryBook implements SessionBook {
  readonly #runtime: Pick<Runtime, 'now' | 'wallNow' | 'setTimer'>
  readonly #maxAgeMs: () => number
  readonly #disk: BookDisk | undefined
  readonly #name: string
  /** By the hashes of the ids, the one first that was written first. */
  readonly #entries = new Map<string, Entry>()
  #bytes = 0
  #lookedAtMs = -Infinity
  #writtenAtMs = -Infinity
  #timer: Timer | undefined
  #hasFailed = false

  constructor(
    runtime: Pick<Runtime, 'now' | 'wallNow' | 'setTimer'>,
    maxAgeMs: () => number,
    disk?: BookDisk,
  ) {
    this.#runtime = runtime
    this.#maxAgeMs = maxAgeMs
    this.#disk = disk
    const hash = createHash('sha256').update(disk?.source ?? '')
    this.#name = `${hash.digest('hex').slice(0, 32)}.json`
  }

  read(hash: string): Promise<SessionNotes | 'ended' | undefined> {
    if (this.#runtime.now() - this.#lookedAtMs >= LOOK_MS) this.#look()
    return Promise.resolve(this.#entries.get(hash)?.notes)
  }

  write(hash: string, notes: SessionNotes): void {
    this.#put(hash, { atMs: this.#runtime.wallNow(), notes })
    this.#saveLater()
  }

  end(hash: string): void {
    this.#put(hash, { atMs: this.#runtime.wallNow(), notes: 'ended' })
    this.#saveLater()
  }

  /** Writes what is not written yet. */
  close(): void {
    if (this.#timer !== undefined) this.#save()
  }

  /** An end is final, and else the later entry counts. */
  #put(hash: string, entry: Entry): void {
    const before = this.#entries.get(hash)
    if (before?.notes === 'ended') return
    if (before !== undefined && before.atMs > entry.atMs && entry.notes !== 'ended') return
    this.#drop(hash, before)
    this.#entries.set(hash, entry)
    this.#bytes += sizeOf(entry)
    for (const [oldest, other] of this.#entries) {
      if (this.#entries.size <= ENTRIES_MAX && this.#bytes <= BYTES_MAX) return
      this.#drop(oldest, other)
    }
  }

  #drop(hash: string, entry: Entry | undefined): void {
    if (entry !== undefined && this.#entries.delete(hash)) this.#bytes -= sizeOf(entry)
  }

  /** Takes what other processes have written. */
  #look(): void {
    this.#lookedAtMs = this.#runtime.now()
    // What is written is longer than what counts here: every entry has a hash.
    const bytes = this.#disk?.files.read(this.#name, 2 * BYTES_MAX)
    const sinceMs = this.#runtime.wallNow() - this.#maxAgeMs()
    for (const [hash, entry] of bytes === undefined ? [] : entriesIn(bytes.toString()))
      if (entry.atMs >= sinceMs) this.#put(hash, entry)
  }

  #saveLater(): void {
    if (this.#disk === undefined) return
    const waitMs = Math.max(FIRST_WAIT_MS, this.#writtenAtMs + LATER_WAIT_MS - this.#runtime.now())
    this.#timer ??= this.#runtime.setTimer(waitMs, () => this.#save())
  }

  #save(): void {
    this.#timer?.cancel()
    this.#timer = undefined
    this.#writtenAtMs = this.#runtime.now()
    if (this.#disk === undefined) return
    const { files, log, source } = this.#disk
    try {
      const why = files.prepare()
      if (why !== undefined) throw new Error(why)
      this.#look()
      const sinceMs = this.#runtime.wallNow() - this.#maxAgeMs()
      for (const [hash, entry] of this.#entries) if (entry.atMs < sinceMs) this.#drop(hash, entry)
      files.write(this.#name, Buffer.from(textOf(this.#entries, source)))
      files.removeUnused(sinceMs)
    } catch (error) {
      if (!this.#hasFailed)
        log({
          level: 'warn',
          message: `log levels and subscriptions of sessions are not kept in ${files.folder}: ${errorText(error)}`,
        })
      this.#hasFailed = true
    }
  }
}

/** About the bytes that it has in the file, without its hash. */
function sizeOf({ notes }: Entry): number {
  if (notes === 'ended') return 24
  return notes.subscriptions.reduce((sum, uri) => sum + 2 * uri.length, 64)
}

function textOf(entries: ReadonlyMap<string, Entry>, source: string): string {
  const lines = [...entries].map(([hash, { atMs, notes }]) => `${write(hash)}:${write([atMs, notes])}`)
  return `{"format":${FORMAT},"source":${write(source)},"sessions":{\n${lines.join(',\n')}}}\n`
}

/** Nothing for a file that is torn, of another format, or no such file at all. */
function entriesIn(text: string): [string, Entry][] {
  try {
    const json = parse(text)
    if (!isObject(json) || json['format'] !== FORMAT || !isObject(json['sessions'])) return []
    return Object.entries(json['sessions']).flatMap(([hash, value]) => {
      const [atMs, notes]: readonly unknown[] = Array.isArray(value) ? value : []
      const read = notesIn(notes)
      return typeof atMs === 'number' && read !== undefined ? [[hash, { atMs, notes: read }]] : []
    })
  } catch {
    return []
  }
}

function notesIn(value: unknown): Entry['notes'] | undefined {
  if (value === 'ended') return value
  if (!isObject(value) || !Array.isArray(value['subscriptions'])) return undefined
  const { level, subscriptions } = value
  const uris = subscriptions.filter((uri): uri is string => typeof uri === 'string')
  return { level: typeof level === 'string' ? level : undefined, subscriptions: uris }
}
