// A store in Redis or Valkey. The proxy loads this file only if the configuration names a store.
//
// Each instance reads its stream and the stream for all instances. If the store does not answer a command in
// time, it is away until it answers a probe, so that no request waits for a dead store.

import type { RedisArgument } from '@redis/client'
import { repeat, within } from '../runtime/deadline.js'
import { putNewest } from '../runtime/limited-table.js'
import type { Runtime, Timer } from '../runtime/runtime.js'
import { ALL, type Bucket, type Store, StoreAway, type TakenTokens } from './store.js'

/** The store is not usable. The message is a predicate of `server.store`. */
export class StoreRefused extends Error {
  readonly hint: string

  constructor(message: string, hint: string, cause?: unknown) {
    super(message, { cause })
    this.hint = hint
  }
}

const COMMAND_MS = 500
/** The limit of the connection, and of each command at the start, when the process is busy and no request waits. */
const CONNECT_MS = 5000
const PROBE_MS = 500
/** A blocked read returns after this time, so that the silence of a dead connection is detectable. */
const BLOCK_MS = 5000
const SILENCE_MS = 10_000
const RECONNECT_MS_MAX = 1000
const READ_MAX = 100
/** The expiry of an inbox, and the interval at which a sender renews it. */
const INBOX_MS = 60_000
const INBOX_RENEWAL_MS = 20_000
const MESSAGES_TO_ALL_MAX = 1000
/** An instance removes read messages after this many bytes. */
const READ_BYTES_MAX = 262_144 // 256 KiB
/** The most inboxes whose renewals an instance remembers. */
const INBOXES_MAX = 1000

/** Refills a bucket and takes tokens. Redis may drop the fraction of a Lua number, so the script stores a string. */
const TAKE = `
local time = redis.call('TIME')
local now = time[1] * 1000 + time[2] / 1000
local perMs, burst, want = ARGV[1] / 60000, tonumber(ARGV[2]), tonumber(ARGV[3])
local last = redis.call('HMGET', KEYS[1], 'tokens', 'at')
local tokens = math.min(burst, (last[1] or burst) + math.max(0, now - (last[2] or now)) * perMs)
local taken = math.min(want, math.floor(tokens))
tokens = tokens - taken
redis.call('HSET', KEYS[1], 'tokens', tostring(tokens), 'at', string.format('%.3f', now))
redis.call('PEXPIRE', KEYS[1], math.ceil(burst / perMs) + 1000)
return { taken, tokens >= 1 and 0 or math.ceil((1 - tokens) / perMs) }`

type Clock = Pick<Runtime, 'now' | 'setTimer'>
type Client = Awaited<ReturnType<typeof connected>>

/** @throws StoreRefused if the store is unreachable or may drop entries, or if the package is not installed */
export async function openRedisStore(url: string, clock: Clock): Promise<RedisStore> {
  const client = await connected(url)
  try {
    const info = await client.sendCommand(['INFO', 'memory'])
    const [, policy] =
      /maxmemory_policy:(\S+)/.exec(
        Buffer.isBuffer(info) || typeof info === 'string' ? info.toString() : '',
      ) ?? []
    if (policy !== 'noeviction')
      throw new StoreRefused(
        `has the maxmemory-policy ${policy ?? 'unknown'}, and an entry that it drops may give access back`,
        'set maxmemory-policy noeviction',
      )
    return new RedisStore(client, clock)
  } catch (error) {
    client.destroy()
    throw error instanceof StoreRefused ? error : unreachable(error)
  }
}

async function connected(url: string) {
  const { createClient, RESP_TYPES } = await loadPackage()
  const client = createClient({
    url,
    RESP: 2,
    disableOfflineQueue: true,
    maintNotifications: 'disabled',
    commandOptions: { typeMapping: { [RESP_TYPES.BLOB_STRING]: Buffer } },
    socket: {
      connectTimeout: CONNECT_MS,
      socketTimeout: SILENCE_MS,
      reconnectStrategy: (retries) => Math.min(50 * 2 ** retries, RECONNECT_MS_MAX),
    },
  })
  // An `error` event without a listener would end the process. Each failed command also rejects.
  client.on('error', () => {})
  const first = new Promise<never>((_, reject) => client.once('error', reject))
  try {
    await Promise.race([client.connect(), first])
    return client
  } catch (error) {
    client.destroy()
    throw unreachable(error)
  }
}

function unreachable(cause: unknown): StoreRefused {
  const why = cause instanceof Error ? cause.message : String(cause)
  return new StoreRefused(`cannot be used: ${why}`, 'check the address, and whether Redis runs there', cause)
}

async function loadPackage() {
  try {
    return await import('@redis/client')
  } catch (error) {
    throw new StoreRefused(
      'needs a package that is not installed',
      'npm install --global @redis/client',
      error,
    )
  }
}

export class RedisStore implements Store {
  onChange: (cause?: unknown) => void = () => {}
  /** The number and the total time of answered commands. */
  readonly latency: { count: number; sumMs: number } = { count: 0, sumMs: 0 }
  readonly #client: Client
  readonly #clock: Clock
  /** The time of the last renewal of each inbox. */
  readonly #renewedMs = new Map<string, number>()
  #reader: Client | undefined
  #probe: Timer | undefined
  isAway = false
  #isClosed = false

  constructor(client: Client, clock: Clock) {
    this.#client = client
    this.#clock = clock
    client.on('error', (error: unknown) => this.#leave(error))
  }

  async get(key: string): Promise<Buffer | undefined> {
    const value = await this.#ask(['GET', named(key)])
    return Buffer.isBuffer(value) ? value : undefined
  }

  async put(key: string, value: Buffer, ttlMs: number): Promise<void> {
    await this.#ask(['SET', named(key), value, 'PX', String(ttlMs)])
  }

  async add(key: string, value: Buffer, ttlMs: number): Promise<boolean> {
    return (await this.#ask(['SET', named(key), value, 'PX', String(ttlMs), 'NX'])) !== null
  }

  async delete(key: string): Promise<void> {
    await this.#ask(['DEL', named(key)])
  }

  async take(key: string, { perMinute, burst }: Bucket, want: number): Promise<TakenTokens> {
    const numbers = [perMinute, burst, want].map(String)
    const reply = await this.#ask(['EVAL', TAKE, '1', named(key), ...numbers])
    const [taken, waitMs] = Array.isArray(reply) ? reply.map(Number) : []
    return { taken: taken ?? 0, waitMs: waitMs ?? 0 }
  }

  async send(to: string, message: Buffer): Promise<void> {
    const key = inbox(to)
    const trim = to === ALL ? ['MAXLEN', '~', String(MESSAGES_TO_ALL_MAX)] : []
    const sent = this.#ask(['XADD', key, ...trim, '*', 'm', message])
    const nowMs = this.#clock.now()
    if (nowMs - (this.#renewedMs.get(key) ?? -Infinity) < INBOX_RENEWAL_MS) return void (await sent)
    putNewest(this.#renewedMs, key, nowMs, INBOXES_MAX)
    await Promise.all([sent, this.#ask(['PEXPIRE', key, String(INBOX_MS)])])
  }

  async receive(instance: string, take: (message: Buffer) => void): Promise<void> {
    const keys = [inbox(instance), inbox(ALL)]
    const ask = (...command: string[]): Promise<unknown> => this.#command(command, CONNECT_MS)
    // This read fails now if the Redis user may not read the streams. The reader below would only retry in silence.
    await ask('XREAD', 'COUNT', '1', 'STREAMS', ...keys, '$', '$')
    const newest = await Promise.all(keys.map((key) => ask('XREVRANGE', key, '+', '-', 'COUNT', '1')))
    const reader = this.#client.duplicate()
    reader.on('error', () => {})
    this.#reader = reader
    await reader.connect()
    const places = new Map(keys.map((key, at) => [key, entriesOf(newest[at])[0]?.id ?? '0-0']))
    void this.#read(reader, places, take)
  }

  async close(): Promise<void> {
    this.#isClosed = true
    this.#probe?.cancel()
    this.#reader?.destroy()
    this.#client.destroy()
  }

  /** Reads each stream after its last message, and removes read messages to this instance. */
  async #read(reader: Client, places: Map<string, string>, take: (message: Buffer) => void): Promise<void> {
    const [own = ''] = places.keys()
    let readBytes = 0
    while (!this.#isClosed) {
      try {
        const block = ['BLOCK', String(BLOCK_MS), 'COUNT', String(READ_MAX)]
        const reply = await reader.sendCommand([
          'XREAD',
          ...block,
          'STREAMS',
          ...places.keys(),
          ...places.values(),
        ])
        for (const [key, entries] of streamsOf(reply)) {
          for (const { id, message } of entries) {
            places.set(key, id)
            if (key === own) readBytes += message.length
            take(message)
          }
        }
        if (readBytes < READ_BYTES_MAX) continue
        readBytes = 0
        this.#ask(['XTRIM', own, 'MINID', places.get(own) ?? '0']).catch(() => {})
      } catch {
        await new Promise<void>((resolve) => void this.#clock.setTimer(PROBE_MS, resolve))
      }
    }
  }

  #ask(command: readonly RedisArgument[]): Promise<unknown> {
    return this.isAway ? Promise.reject(new StoreAway()) : this.#command(command)
  }

  async #command(command: readonly RedisArgument[], limitMs = COMMAND_MS): Promise<unknown> {
    const startedMs = this.#clock.now()
    const answer = this.#client.sendCommand<unknown>(command).then((reply) => ({ reply }))
    try {
      const came = await within(answer, limitMs, this.#clock)
      if (came === undefined) throw new Error(`no answer within ${limitMs} ms`)
      this.latency.count++
      this.latency.sumMs += this.#clock.now() - startedMs
      return came.reply
    } catch (error) {
      answer.catch(() => {})
      // An error reply shows that the store is reachable.
      if (!isReply(error) || refusesToWrite.test(error.message)) this.#leave(error)
      throw new StoreAway(error)
    }
  }

  #leave(cause: unknown): void {
    if (this.isAway || this.#isClosed) return
    this.isAway = true
    // The store may return without its data.
    this.#renewedMs.clear()
    this.onChange(cause)
    this.#probe = repeat(
      this.#clock,
      PROBE_MS,
      () =>
        void this.#command(['SET', named('probe'), '', 'PX', String(PROBE_MS)]).then(
          () => this.#comeBack(),
          () => {},
        ),
    )
  }

  #comeBack(): void {
    if (!this.isAway || this.#isClosed) return
    this.#probe?.cancel()
    this.isAway = false
    this.onChange()
  }
}

function named(key: string): string {
  return `mcps:${key}`
}

function inbox(to: string): string {
  return named(`inbox:${to}`)
}

/** Whether the store wrote the error. Its errors begin with a word in capitals. */
function isReply(error: unknown): error is Error {
  return error instanceof Error && /^[A-Z]+ /.test(error.message)
}

/** Errors of a store with full memory or disk, and of a replica. Such a store cannot share state. */
const refusesToWrite = /^(?:OOM|MISCONF|READONLY|NOREPLICAS) /

interface Entry {
  readonly id: string
  readonly message: Buffer
}

function streamsOf(reply: unknown): (readonly [string, Entry[]])[] {
  if (!Array.isArray(reply)) return []
  return reply.flatMap((stream: unknown) =>
    Array.isArray(stream) ? [[String(stream[0]), entriesOf(stream[1])] as const] : [],
  )
}

/** Reads the entries of a reply. An entry is an id and a list of one name and one value. */
function entriesOf(list: unknown): Entry[] {
  if (!Array.isArray(list)) return []
  return list.flatMap((entry: unknown) => {
    const [id, fields]: unknown[] = Array.isArray(entry) ? entry : []
    const message: unknown = Array.isArray(fields) ? fields[1] : undefined
    return Buffer.isBuffer(message) ? [{ id: String(id), message }] : []
  })
}
