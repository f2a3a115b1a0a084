// The book of one gateway: the log levels and subscriptions of sessions, and the sessions that clients have ended.
//
// A session can continue without the book: without a folder, or on a full disk, its client must subscribe and
// set its log level again. Several processes with one configuration may append to the same file, one line for
// each entry. A process rewrites a long file; lines that another process appends in that moment are lost.

import { createHash } from 'node:crypto'
import { parse, write } from '../jsonrpc/text.js'
import type { KeptFiles, LogSink, Runtime } from '../runtime/runtime.js'
import { errorText } from '../text/error-text.js'
import { isObject, textsIn } from '../text/json-object.js'
import type { SessionBook, SessionNotes } from '../transports/http-server/session-ids.js'

/** Enough for the sessions of a large team in a week. Beyond these limits, the book drops the oldest entries. */
const ENTRIES_MAX = 10_000
const BYTES_MAX = 4_194_304 // 4 MiB

/** The shortest time between two reads of the file for look-ups. */
const LOOK_MS = 1000

/** How long files of other configurations stay at least, because their sessions may last longer. */
const UNUSED_MS = 2_592_000_000 // 30 days

/** The length at which a process rewrites the file. The file has room for several lines for each entry. */
const FILE_BYTES_MAX = 4 * BYTES_MAX

export interface BookDisk {
  readonly files: KeptFiles
  readonly log: LogSink
  /** The absolute path or the name of the configuration. Each configuration has a separate book. */
  readonly source: string
}

interface Entry {
  readonly atMs: number
  readonly notes: SessionNotes | 'ended'
}

/** Keeps the book in memory, and with `disk` also in a file. */
export class MemoryBook implements SessionBook {
  readonly #runtime: Pick<Runtime, 'now' | 'wallNow'>
  readonly #maxAgeMs: () => number
  readonly #disk: BookDisk | undefined
  readonly #name: string
  /** The entries by the hashes of session ids, the oldest first. */
  readonly #entries = new Map<string, Entry>()
  #bytes = 0
  #lookedAtMs = -Infinity
  /** The length at the last read, plus the bytes that this process has appended; undefined before the first write. */
  #fileBytes: number | undefined
  #hasFailed = false

  constructor(runtime: Pick<Runtime, 'now' | 'wallNow'>, maxAgeMs: () => number, disk?: BookDisk) {
    this.#runtime = runtime
    this.#maxAgeMs = maxAgeMs
    this.#disk = disk
    const hash = createHash('sha256').update(disk?.source ?? '')
    // The name contains the version of the format, because an append may create a file without a header.
    this.#name = `${hash.digest('hex').slice(0, 32)}.1.jsonl`
  }

  read(hash: string): Promise<SessionNotes | 'ended' | undefined> {
    if (this.#runtime.now() - this.#lookedAtMs >= LOOK_MS) this.#look()
    return Promise.resolve(this.#entries.get(hash)?.notes)
  }

  write(hash: string, notes: SessionNotes): void {
    this.#add(hash, { atMs: this.#runtime.wallNow(), notes })
  }

  end(hash: string): Promise<void> {
    this.#add(hash, { atMs: this.#runtime.wallNow(), notes: 'ended' })
    return Promise.resolve()
  }

  #add(hash: string, entry: Entry): void {
    if (this.#put(hash, entry)) this.#save(lineOf(hash, entry))
  }

  /** Adds an entry. An end is final; otherwise the later entry counts. Returns false if the old entry stays. */
  #put(hash: string, entry: Entry): boolean {
    const before = this.#entries.get(hash)
    if (before?.notes === 'ended') return false
    if (before !== undefined && before.atMs > entry.atMs && entry.notes !== 'ended') return false
    this.#drop(hash, before)
    this.#entries.set(hash, entry)
    this.#bytes += sizeOf(entry)
    for (const [oldest, other] of this.#entries) {
      if (this.#entries.size <= ENTRIES_MAX && this.#bytes <= BYTES_MAX) break
      this.#drop(oldest, other)
    }
    return true
  }

  #drop(hash: string, entry: Entry | undefined): void {
    if (entry !== undefined && this.#entries.delete(hash)) this.#bytes -= sizeOf(entry)
  }

  /** Reads the entries of other processes. */
  #look(): void {
    this.#lookedAtMs = this.#runtime.now()
    const bytes = this.#disk?.files.read(this.#name, 2 * FILE_BYTES_MAX)
    const sinceMs = this.#runtime.wallNow() - this.#maxAgeMs()
    for (const [hash, entry] of this.#entries) if (entry.atMs < sinceMs) this.#drop(hash, entry)
    for (const [hash, entry] of bytes === undefined ? [] : entriesIn(bytes.toString()))
      if (entry.atMs >= sinceMs) this.#put(hash, entry)
    if (this.#fileBytes !== undefined) this.#fileBytes = bytes?.length ?? 0
  }

  #save(line: string): void {
    if (this.#disk === undefined) return
    const { files, log } = this.#disk
    try {
      if (this.#fileBytes === undefined && this.#open(files)) return
      const bytes = Buffer.from(line)
      this.#fileBytes = (this.#fileBytes ?? 0) + bytes.length
      if (this.#fileBytes > FILE_BYTES_MAX) this.#writeAnew(files)
      else files.append(this.#name, bytes)
    } catch (error) {
      const why = `log levels, subscriptions and ends of sessions are not kept in ${files.folder}: ${errorText(error)}`
      if (!this.#hasFailed) log({ level: 'warn', message: why })
      this.#hasFailed = true
    }
  }

  /** Prepares the folder and the file. Returns true if the file is new and contains all entries. */
  #open(files: KeptFiles): boolean {
    const why = files.prepare()
    if (why !== undefined) throw new Error(why)
    files.removeUnused(this.#runtime.wallNow() - Math.max(this.#maxAgeMs(), UNUSED_MS))
    const before = files.read(this.#name, 2 * FILE_BYTES_MAX)
    // `before` is also undefined for a file that is too long.
    if (before !== undefined) this.#fileBytes = before.length
    else this.#writeAnew(files)
    return before === undefined
  }

  #writeAnew(files: KeptFiles): void {
    this.#look()
    const lines = Array.from(this.#entries, ([hash, entry]) => lineOf(hash, entry))
    const bytes = Buffer.from(lines.join(''))
    files.write(this.#name, bytes)
    this.#fileBytes = bytes.length
  }
}

/** Estimates the bytes of an entry in the file, without its hash. */
function sizeOf({ notes }: Entry): number {
  if (notes === 'ended') return 24
  return notes.subscriptions.reduce((sum, uri) => sum + 2 * uri.length, 64)
}

/** Begins with a line feed, so that a torn line does not damage the next one. */
function lineOf(hash: string, { atMs, notes }: Entry): string {
  return `\n${write([hash, atMs, notes])}`
}

/** Yields the readable entries. */
function* entriesIn(text: string): IterableIterator<[string, Entry]> {
  for (const line of text.split('\n')) {
    const [hash, atMs, value]: readonly unknown[] = listIn(line)
    const notes = notesIn(value)
    if (typeof hash === 'string' && typeof atMs === 'number' && notes !== undefined)
      yield [hash, { atMs, notes }]
  }
}

function listIn(line: string): readonly unknown[] {
  try {
    const value = parse(line)
    return Array.isArray(value) ? value : []
  } catch {
    return []
  }
}

export function notesIn(value: unknown): Entry['notes'] | undefined {
  if (value === 'ended') return value
  if (!isObject(value) || !Array.isArray(value['subscriptions'])) return undefined
  const { level, subscriptions } = value
  return { level: typeof level === 'string' ? level : undefined, subscriptions: textsIn(subscriptions) }
}
