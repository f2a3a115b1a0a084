// The store of kept facts: in memory, and in one file where there is a folder.
//
// Nothing here is needed: without a folder, or on a full disk, the proxy goes on with what it has in memory. Several
// processes with the same configuration may use the same file; each replaces it as a whole, with the entries of all. Of
// two that write in the same millisecond one may lose an entry, which the next start learns again.

import { createHash, randomBytes } from 'node:crypto'
import { type KeptLimits, limits as defaultLimits } from '../limits.js'
import type { KeptFiles, LogSink, Runtime, Timer } from '../runtime/runtime.js'
import type { KeptFacts, KeptServer, KeptServers } from '../upstream/contracts/kept.js'
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

/** Before the first write, so that servers that start together are written once. */
const FIRST_WAIT_MS = 500

/** Before each later one: some servers change their lists all the time. */
const LATER_WAIT_MS = 10_000

const DAY_MS = 24 * 3_600_000

/** The name of the file of one configuration. */
export function keptFileName(source: string): string {
  return `${createHash('sha256').update(source).digest('hex').slice(0, 32)}.json`
}

/** A server, and what is known of it. */
class RememberedServer implements KeptServer {
  readonly name: string
  readonly identity: string
  readonly #store: KeptStore
  readonly #isOnDisk: boolean
  #facts: { readonly are: KeptFacts | undefined } | undefined

  constructor(store: KeptStore, { name, keep }: ServerConfig, identity: string) {
    this.name = name
    this.identity = identity
    this.#store = store
    this.#isOnDisk = keep
  }

  get facts(): KeptFacts | undefined {
    this.#facts ??= { are: this.#isOnDisk ? this.#store.load(this) : undefined }
    return this.#facts.are
  }

  keep(facts: KeptFacts): void {
    const before = this.facts
    this.#facts = { are: facts }
    if (this.#isOnDisk && (before === undefined || !isSameFacts(before, facts))) this.#store.save(this, facts)
  }
}

/** Keeps the facts of every server of one proxy, or of all schemas of a gateway. */
export class KeptStore implements KeptServers {
  readonly #limits: KeptLimits
  readonly #disk: KeptDisk | undefined
  readonly #fileName: string
  /** By the values that identify a server. */
  readonly #servers = new Map<string, RememberedServer>()
  /** The file as it was at the first look. */
  #read: { readonly json: KeptJson | undefined } | undefined
  /** Facts that are still to be written. */
  readonly #unsaved = new Map<RememberedServer, KeptFacts>()
  #timer: Timer | undefined
  #hasWritten = false
  #hasFailed = false
  #isClosed = false

  constructor(limits: KeptLimits = defaultLimits.kept, disk?: KeptDisk) {
    this.#limits = limits
    this.#disk = disk
    this.#fileName = keptFileName(disk?.source ?? '')
  }

  of(config: ServerConfig): KeptServer {
    const identity = identityOf(config)
    const there = this.#servers.get(identity)
    if (there !== undefined) return there
    const server = new RememberedServer(this, config, identity)
    this.#servers.set(identity, server)
    const [oldest] = this.#servers.keys()
    if (this.#servers.size > this.#limits.serversMax && oldest !== undefined) this.#servers.delete(oldest)
    return server
  }

  /** The facts that an earlier run has kept of it. */
  load(server: RememberedServer): KeptFacts | undefined {
    if (this.#disk === undefined) return undefined
    this.#read ??= { json: this.#readJson(this.#disk) }
    const { json } = this.#read
    const entry = json?.entries.get(keptId(json.salt, server.identity))
    const facts = fromEntry(entry)
    // An entry that is used stays; once a day is often enough to write that.
    if (facts !== undefined && this.#disk.runtime.wallNow() - usedAt(entry) >= DAY_MS)
      this.save(server, facts)
    return facts
  }

  save(server: RememberedServer, facts: KeptFacts): void {
    if (this.#disk === undefined || this.#isClosed) return
    this.#unsaved.set(server, facts)
    const waitMs = this.#hasWritten ? LATER_WAIT_MS : FIRST_WAIT_MS
    this.#timer ??= this.#disk.runtime.setTimer(waitMs, () => this.flush())
  }

  flush(): void {
    this.#timer?.cancel()
    this.#timer = undefined
    if (this.#disk === undefined || this.#unsaved.size === 0) return
    try {
      const why = this.#disk.files.prepare()
      if (why !== undefined) this.#failed(this.#disk, 'debug', `there is no folder for them: ${why}`)
      else this.#write(this.#disk)
    } catch (error) {
      this.#failed(this.#disk, 'warn', `${errorText(error)}; what servers list is kept in memory only`)
    }
    this.#unsaved.clear()
  }

  /** Writes what is left; nothing is written afterwards. */
  close(): void {
    this.#isClosed = true
    this.flush()
  }

  #write(disk: KeptDisk): void {
    const { files, runtime, source } = disk
    const nowMs = runtime.wallNow()
    const before = this.#readJson(disk)
    const salt = before?.salt ?? (runtime.secret ?? randomBytes)(16).toString('hex')
    const entries = new Map(before?.entries)
    for (const [{ name, identity }, facts] of this.#unsaved) {
      const id = keptId(salt, identity)
      if (!isLearnedElsewhere(facts, fromEntry(entries.get(id)))) entries.set(id, toEntry(name, nowMs, facts))
    }
    files.write(this.#fileName, encodeKept({ salt, entries }, source, nowMs, this.#limits))
    if (!this.#hasWritten) files.removeUnused(nowMs - this.#limits.unusedMsMax)
    this.#hasWritten = true
  }

  #readJson({ files }: KeptDisk): KeptJson | undefined {
    const bytes = files.read(this.#fileName, this.#limits.fileBytesMax)
    return bytes && decodeKept(bytes)
  }

  /** Once: a disk that fails for one write fails for the next. */
  #failed({ files, log }: KeptDisk, level: 'warn' | 'debug', why: string): void {
    if (!this.#hasFailed) log({ level, message: `kept lists in ${files.folder}: ${why}` })
    this.#hasFailed = true
  }
}

/** Another process, such as a warm-up, has learned the lists of which this one knows nothing. */
function isLearnedElsewhere(ours: KeptFacts, theirs: KeptFacts | undefined): boolean {
  return ours.description === undefined && ours.failure === undefined && theirs?.description !== undefined
}

/** Byte by byte. */
function isSameFacts(one: KeptFacts, other: KeptFacts): boolean {
  const [text, otherText] = [one, other].map((facts) => JSON.stringify(toEntry('', 0, facts)))
  return text === otherText
}
