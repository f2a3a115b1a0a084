// The store of kept facts: in memory, and in one file if there is a folder.
//
// The proxy does not depend on the file: without a folder, or on a full disk, it uses its memory. Several
// processes with the same configuration may share the file. Each replaces the whole file with the entries of
// all. If two processes write in the same millisecond, one entry may be lost; the next start learns it again.

import { strict as assert } from 'node:assert'
import { Buffer } from 'node:buffer'
import { createHash, randomBytes } from 'node:crypto'
import { scanText } from '../jsonrpc/scan.js'
import { type Limits, limits as defaultLimits } from '../limits.js'
import type { KeptFiles, LogSink, Runtime, Timer } from '../runtime/runtime.js'
import { listKinds } from '../mcp/list-items.js'
import type { KeptFacts, KeptServer, KeptServers, SelfDescription } from '../upstream/contracts/kept.js'
import type { ServerConfig } from '../upstream/contracts/server-config.js'
import { errorText } from '../text/error-text.js'
import { isObject } from '../text/json-object.js'
import { identityOf } from './identity.js'

export interface KeptDisk {
  readonly files: KeptFiles
  readonly runtime: Pick<Runtime, 'wallNow' | 'setTimer' | 'secret'>
  readonly log: LogSink
  /** The configuration: the absolute path of its file, or its name. */
  readonly source: string
}

/** The delay of the first write: servers that start together are written once. */
const FIRST_WAIT_MS = 500

/** The delay of each later write: some servers change their lists all the time. */
const LATER_WAIT_MS = 10_000

const DAY_MS = 24 * 3_600_000

export function keptFileName(source: string): string {
  return `${hashOf(source)}.json`
}

interface RememberedServer extends KeptServer {
  readonly name: string
  /** The text of all values that identify the server. */
  readonly identity: string
  facts: KeptFacts | undefined
}

export class KeptStore implements KeptServers {
  readonly #limits: Limits['kept']
  readonly #disk: KeptDisk | undefined
  readonly #fileName: string
  /** The key is the identity of the server. */
  readonly #servers = new Map<string, RememberedServer>()
  readonly #unsaved = new Set<RememberedServer>()
  /** The file at the first read. */
  #read: { readonly json: KeptJson | undefined } | undefined
  #timer: Timer | undefined
  #hasWritten = false
  #hasFailed = false
  #isClosed = false

  constructor(limits: Limits['kept'] = defaultLimits.kept, disk?: KeptDisk) {
    this.#limits = limits
    this.#disk = disk
    this.#fileName = keptFileName(disk?.source ?? '')
  }

  of(config: ServerConfig): KeptServer {
    const { name, keep: isOnDisk } = config
    const identity = identityOf(config)
    const there = this.#servers.get(identity)
    if (there !== undefined) return there
    const keep = (facts: KeptFacts): void => {
      const isNew = server.facts === undefined || !isSameFacts(server.facts, facts)
      server.facts = facts
      if (isOnDisk && isNew) this.#save(server)
    }
    const server: RememberedServer = { name, identity, facts: undefined, keep }
    this.#servers.set(identity, server)
    const [oldest] = this.#servers.keys()
    if (this.#servers.size > this.#limits.serversMax && oldest !== undefined) this.#servers.delete(oldest)
    if (this.#disk !== undefined && isOnDisk) this.#load(server, this.#disk)
    return server
  }

  flush(): void {
    this.#timer?.cancel()
    this.#timer = undefined
    const unsaved = [...this.#unsaved]
    this.#unsaved.clear()
    if (this.#disk === undefined || unsaved.length === 0) return
    try {
      const why = this.#disk.files.prepare()
      if (why !== undefined) this.#failed(this.#disk, 'debug', `there is no folder for them: ${why}`)
      else this.#write(this.#disk, unsaved)
    } catch (error) {
      this.#failed(this.#disk, 'warn', `${errorText(error)}; what servers list is kept in memory only`)
    }
  }

  /** Writes the unsaved entries. The store writes nothing after that. */
  close(): void {
    this.#isClosed = true
    this.flush()
  }

  #load(server: RememberedServer, disk: KeptDisk): void {
    this.#read ??= { json: this.#readJson(disk) }
    const { json } = this.#read
    const entry = json?.entries.get(idOf(json.salt, server))
    server.facts = fromEntry(entry)
    // A used entry must not expire. It is enough to write its time of use once a day.
    if (server.facts !== undefined && disk.runtime.wallNow() - usedAt(entry) >= DAY_MS) this.#save(server)
  }

  #save(server: RememberedServer): void {
    if (this.#disk === undefined || this.#isClosed) return
    this.#unsaved.add(server)
    const waitMs = this.#hasWritten ? LATER_WAIT_MS : FIRST_WAIT_MS
    this.#timer ??= this.#disk.runtime.setTimer(waitMs, () => this.flush())
  }

  #write(disk: KeptDisk, unsaved: readonly RememberedServer[]): void {
    const { files, runtime, source } = disk
    const nowMs = runtime.wallNow()
    const before = this.#readJson(disk)
    const salt = before?.salt ?? (runtime.secret ?? randomBytes)(16).toString('hex')
    const entries = new Map(before?.entries)
    for (const server of unsaved) {
      const id = idOf(salt, server)
      const { name, facts } = server
      if (facts !== undefined) entries.set(id, toEntry(name, nowMs, facts))
    }
    files.write(this.#fileName, encodeKept({ salt, entries }, source, nowMs, this.#limits))
    if (!this.#hasWritten) files.removeUnused(nowMs - this.#limits.unusedMsMax)
    this.#hasWritten = true
  }

  #readJson({ files }: KeptDisk): KeptJson | undefined {
    const bytes = files.read(this.#fileName, this.#limits.fileBytesMax)
    return bytes && decodeKept(bytes)
  }

  /** Logs only the first failure, because a disk that fails once fails again. */
  #failed({ files, log }: KeptDisk, level: 'warn' | 'debug', why: string): void {
    if (!this.#hasFailed) log({ level, message: `kept lists in ${files.folder}: ${why}` })
    this.#hasFailed = true
  }
}

function hashOf(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 32)
}

/** Without the salt, an id would let a reader guess values of the configuration. */
function idOf(salt: string, { identity }: RememberedServer): string {
  return hashOf(salt + identity)
}

function isSameFacts(one: KeptFacts, other: KeptFacts): boolean {
  const [text, otherText] = [one, other].map((facts) => JSON.stringify(toEntry('', 0, facts)))
  return text === otherText
}

// The file of one configuration is JSON, and contains the messages of the servers as strings.
//
// The file may be damaged or edited, and the proxy writes its content into messages to clients. An entry that
// does not have exactly this form counts as missing.

/** The kept facts of one configuration. An entry is decoded when its server is requested. */
export interface KeptJson {
  /** Part of the hash that makes the ids of the entries, so that ids reveal no value of a configuration. */
  readonly salt: string
  readonly entries: ReadonlyMap<string, unknown>
}

const FORMAT = 1

/** Returns undefined if the bytes are not such a file. */
export function decodeKept(bytes: Buffer): KeptJson | undefined {
  return orUndefined(() => {
    const json: unknown = JSON.parse(bytes.toString())
    assert(isObject(json) && json['format'] === FORMAT)
    const { salt, servers } = json
    assert(typeof salt === 'string' && salt !== '' && isObject(servers))
    return { salt, entries: new Map(Object.entries(servers)) }
  })
}

/**
 * Omits entries that were unused for `unusedMsMax`. If there are too many entries or bytes, omits those that
 * were unused for longest.
 */
export function encodeKept(
  { salt, entries }: KeptJson,
  source: string,
  nowMs: number,
  { serversMax, fileBytesMax, unusedMsMax }: Limits['kept'],
): Buffer {
  const used = [...entries]
    .filter(([, entry]) => nowMs - usedAt(entry) <= unusedMsMax)
    .sort(([, one], [, other]) => usedAt(other) - usedAt(one))
  const head = `{"format":${FORMAT},"source":${JSON.stringify(source)},"salt":${JSON.stringify(salt)},"servers":{`
  const lines: string[] = []
  let bytes = head.length
  for (const [id, entry] of used) {
    const line = `${JSON.stringify(id)}:${JSON.stringify(entry)}`
    const length = Buffer.byteLength(line) + 2
    if (lines.length >= serversMax || bytes + length > fileBytesMax) continue
    bytes += length
    lines.push(line)
  }
  return Buffer.from(`${head}\n${lines.join(',\n')}}}\n`)
}

/** The time of the last use in milliseconds since 1970; 0 if the entry has none. */
function usedAt(entry: unknown): number {
  return isObject(entry) && typeof entry['usedAt'] === 'number' ? entry['usedAt'] : 0
}

/** `name` is for people who read the file. */
export function toEntry(name: string, nowMs: number, facts: KeptFacts): unknown {
  const { description, ...rest } = facts
  const said = description && {
    handshake: Buffer.from(description.handshake).toString(),
    probeFailed: description.probeFailed,
    lists: Object.fromEntries(
      [...description.lists].map(([kind, items]) => [
        kind,
        items.map((item) => Buffer.from(item).toString()),
      ]),
    ),
  }
  return { name, usedAt: nowMs, ...rest, ...(said && { description: said }) }
}

/** Returns undefined for any value that `toEntry` has not made. */
export function fromEntry(entry: unknown): KeptFacts | undefined {
  return orUndefined(() => {
    assert(isObject(entry))
    const { failure, description } = entry
    assert(failure === undefined || typeof failure === 'string')
    return { failure, description: description === undefined ? undefined : toDescription(description) }
  })
}

function toDescription(said: unknown): SelfDescription {
  assert(isObject(said))
  const { handshake, lists, probeFailed } = said
  assert(isObject(lists) && typeof probeFailed === 'boolean')
  const read = listKinds.flatMap((kind) => {
    const texts = lists[kind]
    if (texts === undefined) return []
    assert(Array.isArray(texts))
    return [[kind, texts.map(rawJson)] as const]
  })
  return { handshake: rawJson(handshake), lists: new Map(read), probeFailed }
}

/** The text becomes part of messages to clients, so it must be exactly one JSON text. */
function rawJson(text: unknown): Buffer {
  assert(typeof text === 'string')
  const bytes = Buffer.from(text)
  scanText(bytes)
  return bytes
}

function orUndefined<T>(read: () => T): T | undefined {
  try {
    return read()
  } catch {
    return undefined
  }
}
