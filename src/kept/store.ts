// The store of kept facts: in memory, and in one file where there is a folder.
//
// Nothing here is needed: without a folder, or on a full disk, the proxy goes on with what it has in memory. Several
// processes with the same configuration may use the same file; each replaces it as a whole, with the entries of all.

import { Buffer } from 'node:buffer'
import { createHash, randomBytes } from 'node:crypto'
import { type KeptLimits, limits as defaultLimits } from '../limits.js'
import type { KeptFiles, LogSink, Runtime, Timer } from '../runtime/runtime.js'
import type { KeptFacts, KeptServer, KeptServers, SelfDescription } from '../upstream/contracts/kept.js'
import type { ServerConfig } from '../upstream/contracts/server-config.js'
import { identityOf } from './identity.js'
import { type KeptJson, decodeKept, encodeKept, fromEntry, keptId, toEntry, usedAt } from './kept-json.js'
import { errorText } from '../text/error-text.js'

export interface KeptDisk {
  readonly files: KeptFiles
  readonly runtime: Pick<Runtime, 'wallNow' | 'setTimer' | 'secret'>
  readonly log: LogSink
  /** The configuration: the absolute path of its file, or what it is called. */
  readonly source: string
}

/** Before the first write, so that servers that start together are written once; doubles with each write. */
const WRITE_WAIT_MS = 500
const WRITE_WAIT_MS_MAX = 10_000

/** How often another process may write the file between the read and the write of this one. */
const ATTEMPTS_MAX = 5

const DAY_MS = 24 * 3_600_000

/** The name of the file of one configuration. */
export function keptFileName(source: string): string {
  return `${createHash('sha256').update(source).digest('hex').slice(0, 32)}.json`
}

/** Keeps the facts of every server of one proxy, or of all schemas of a gateway. */
export class KeptStore implements KeptServers {
  readonly #limits: KeptLimits
  readonly #file: KeptFile | undefined
  /** By the values that identify a server. */
  readonly #servers = new Map<string, RememberedServer>()

  constructor(limits: KeptLimits = defaultLimits.kept, disk?: KeptDisk) {
    this.#limits = limits
    this.#file = disk && new KeptFile(disk, limits)
  }

  of(config: ServerConfig): KeptServer {
    const identity = identityOf(config)
    const there = this.#servers.get(identity)
    if (there !== undefined) return there
    const file = config.keep ? this.#file : undefined
    const server = new RememberedServer(config.name, identity, file)
    this.#servers.set(identity, server)
    const [oldest] = this.#servers.keys()
    if (this.#servers.size > this.#limits.serversMax && oldest !== undefined) this.#servers.delete(oldest)
    return server
  }

  /** Resolves when everything that was kept until now is written. */
  async flush(): Promise<void> {
    await this.#file?.flush()
  }

  /** The same; nothing is written afterwards. */
  async close(): Promise<void> {
    await this.#file?.close()
  }
}

class RememberedServer implements KeptServer {
  readonly #name: string
  readonly #identity: string
  readonly #file: KeptFile | undefined
  #facts: { readonly are: KeptFacts | undefined } | undefined

  constructor(name: string, identity: string, file: KeptFile | undefined) {
    this.#name = name
    this.#identity = identity
    this.#file = file
  }

  get facts(): KeptFacts | undefined {
    this.#facts ??= { are: this.#file?.load(this.#name, this.#identity) }
    return this.#facts.are
  }

  keep(facts: KeptFacts): void {
    const before = this.facts
    this.#facts = { are: facts }
    if (before === undefined || !isSameFacts(before, facts))
      this.#file?.save(this.#name, this.#identity, facts)
  }
}

interface Unsaved {
  readonly name: string
  readonly facts: KeptFacts
}

/** The file of one configuration. */
class KeptFile {
  readonly #disk: KeptDisk
  readonly #limits: KeptLimits
  readonly #name: string
  #read: { readonly json: KeptJson | undefined } | undefined
  /** By identity; what is to be written. */
  readonly #unsaved = new Map<string, Unsaved>()
  #timer: Timer | undefined
  #waitMs = WRITE_WAIT_MS
  #writing: Promise<void> = Promise.resolve()
  #isTidy = false
  #hasFailed = false
  #isClosed = false

  constructor(disk: KeptDisk, limits: KeptLimits) {
    this.#disk = disk
    this.#limits = limits
    this.#name = keptFileName(disk.source)
  }

  load(name: string, identity: string): KeptFacts | undefined {
    this.#read ??= { json: this.#readJson()?.json }
    const { json } = this.#read
    const entry = json?.entries.get(keptId(json.salt, identity))
    const facts = fromEntry(entry)
    // An entry that is used stays; once a day is often enough to write that.
    if (facts !== undefined && this.#disk.runtime.wallNow() - usedAt(entry) >= DAY_MS)
      this.save(name, identity, facts)
    return facts
  }

  save(name: string, identity: string, facts: KeptFacts): void {
    if (this.#isClosed) return
    this.#unsaved.set(identity, { name, facts })
    this.#timer ??= this.#disk.runtime.setTimer(this.#waitMs, () => void this.flush())
  }

  flush(): Promise<void> {
    this.#timer?.cancel()
    this.#timer = undefined
    this.#writing = this.#writing.then(() => this.#flush())
    return this.#writing
  }

  async close(): Promise<void> {
    this.#isClosed = true
    await this.flush()
  }

  async #flush(): Promise<void> {
    if (this.#unsaved.size === 0) return
    const unsaved = new Map(this.#unsaved)
    this.#unsaved.clear()
    this.#waitMs = Math.min(2 * this.#waitMs, WRITE_WAIT_MS_MAX)
    try {
      const why = await this.#disk.files.prepare()
      if (why !== undefined) this.#failed('debug', `there is no folder for them: ${why}`)
      else await this.#write(unsaved)
    } catch (error) {
      const why = errorText(error)
      this.#failed('warn', `${why}; what servers list is kept in memory only`)
    }
  }

  async #write(unsaved: ReadonlyMap<string, Unsaved>): Promise<void> {
    const { files, runtime, source } = this.#disk
    const nowMs = runtime.wallNow()
    for (let attempts = 0; attempts < ATTEMPTS_MAX; attempts++) {
      const before = this.#readJson()
      const salt = before?.json?.salt ?? (runtime.secret ?? randomBytes)(16).toString('hex')
      const entries = new Map(before?.json?.entries)
      for (const [identity, { name, facts }] of unsaved) {
        const id = keptId(salt, identity)
        if (!isLearnedElsewhere(facts, fromEntry(entries.get(id))))
          entries.set(id, toEntry(name, nowMs, facts))
      }
      const bytes = encodeKept({ salt, entries }, source, nowMs, this.#limits)
      if (await files.write(this.#name, bytes, before?.version)) break
    }
    if (this.#isTidy) return
    this.#isTidy = true
    await files.removeUnused(nowMs - this.#limits.unusedMsMax)
  }

  #readJson(): { readonly json: KeptJson | undefined; readonly version: string } | undefined {
    const found = this.#disk.files.read(this.#name, this.#limits.fileBytesMax)
    return found && { json: decodeKept(found.bytes), version: found.version }
  }

  /** Once: a disk that fails for one write fails for the next. */
  #failed(level: 'warn' | 'debug', why: string): void {
    if (this.#hasFailed) return
    this.#hasFailed = true
    this.#disk.log({ level, message: `kept lists in ${this.#disk.files.folder}: ${why}` })
  }
}

/** Another process, such as a warm-up, has learned the lists of which this one knows nothing. */
function isLearnedElsewhere(ours: KeptFacts, theirs: KeptFacts | undefined): boolean {
  return ours.description === undefined && ours.failure === undefined && theirs?.description !== undefined
}

function isSameFacts(one: KeptFacts, other: KeptFacts): boolean {
  return (
    one.starts === other.starts &&
    one.failure === other.failure &&
    one.isGivenUp === other.isGivenUp &&
    isSameDescription(one.description, other.description)
  )
}

/** Byte by byte. */
function isSameDescription(one: SelfDescription | undefined, other: SelfDescription | undefined): boolean {
  if (one === undefined || other === undefined) return one === other
  if (one.isShy !== other.isShy || one.lists.size !== other.lists.size) return false
  if (!isSame([one.handshake], [other.handshake])) return false
  return [...one.lists].every(([kind, items]) => isSame(items, other.lists.get(kind)))
}

const NOTHING = Buffer.alloc(0)

function isSame(one: readonly Uint8Array[], other: readonly Uint8Array[] | undefined): boolean {
  if (one.length !== other?.length) return false
  return one.every((item, at) => Buffer.compare(item, other[at] ?? NOTHING) === 0)
}
