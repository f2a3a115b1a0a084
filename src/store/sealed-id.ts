// Session ids that every process with the key can open, so that a session outlives the process that made it.
//
// LABEL "." base64url(FORMAT, sealed facts). LABEL names the process that made the id. The principal, its token and the endpoint
// are authenticated with the facts and no part of them, so an id of another principal opens as little as one that was forged.

import { randomBytes } from 'node:crypto'
import { parse, write } from '../jsonrpc/text.js'
import type { Runtime } from '../runtime/runtime.js'
import type { SealedFacts, SessionIds, SessionOwner } from '../transports/http-server/session-ids.js'
import { Sealer } from './keys.js'

/** A client whose id would be longer gets an ordinary one. */
const ID_LENGTH_MAX = 1024

const FORMAT = 1

/** The clocks of two instances may differ by as much. */
const CLOCK_SKEW_MS = 60_000

export interface SealedIdsOptions {
  /** At least one: the first one seals, and all open. They are in one array until they change. */
  readonly keys: () => readonly string[]
  /** The name of this process among all that have the key. */
  readonly label: string
  /** How long an id opens. */
  readonly maxAgeMs: () => number
  readonly runtime: Pick<Runtime, 'wallNow' | 'secret'>
}

export class SealedIds implements SessionIds {
  readonly source: string
  readonly #options: SealedIdsOptions
  readonly #sealer: Sealer

  constructor(options: SealedIdsOptions) {
    const { keys, label, runtime } = options
    this.#options = options
    this.#sealer = new Sealer(keys, 'session id', { secret: drawnFrom(runtime.secret ?? randomBytes) })
    this.source = `${label}.${newLabel(runtime)}`
  }

  seal(facts: SealedFacts, owner: SessionOwner): string | undefined {
    const { label, runtime } = this.#options
    const sealed = this.#sealer.seal(Buffer.from(packed(facts, runtime.wallNow())), boundTo(label, owner))
    const id = `${label}.${Buffer.concat([Buffer.of(FORMAT), sealed]).toString('base64url')}`
    return id.length > ID_LENGTH_MAX ? undefined : id
  }

  open(id: string, owner: SessionOwner): SealedFacts | undefined {
    const at = id.indexOf('.')
    if (at < 1 || id.length > ID_LENGTH_MAX) return undefined
    const text = id.slice(at + 1)
    const bytes = Buffer.from(text, 'base64url')
    // The decoder skips what is no base64url, and a session has one id.
    if (bytes[0] !== FORMAT || bytes.toString('base64url') !== text) return undefined
    const opened = this.#sealer.open(bytes.subarray(1), boundTo(id.slice(0, at), owner))
    return opened && this.#unpacked(opened.toString())
  }

  #unpacked(text: string): SealedFacts | undefined {
    const at = text.indexOf('\n')
    const head = parse(text.slice(0, at))
    const [atMs, revision, bound, name, version]: readonly unknown[] = Array.isArray(head) ? head : []
    if (typeof atMs !== 'number' || typeof revision !== 'string') return undefined
    const ageMs = this.#options.runtime.wallNow() - atMs
    if (ageMs > this.#options.maxAgeMs() || ageMs < -CLOCK_SKEW_MS) return undefined
    const capabilities = text.slice(at + 1)
    return { revision, isBound: bound === 1, name: textOf(name), version: textOf(version), capabilities }
  }
}

/** Names a process that has no name by its configuration. */
export function newLabel({ secret = randomBytes }: Pick<Runtime, 'secret'>): string {
  return secret(3).toString('hex')
}

/** Gives few bytes of many that are drawn together: each draw is a call of the system, which costs as much as sealing an id. */
export function drawnFrom(secret: (bytes: number) => Buffer): (bytes: number) => Buffer {
  let drawn = Buffer.alloc(0)
  return (bytes) => {
    if (drawn.length < bytes) drawn = Buffer.from(secret(64 * bytes))
    const taken = drawn.subarray(0, bytes)
    drawn = drawn.subarray(bytes)
    return taken
  }
}

function boundTo(label: string, { endpoint, principal, credential }: SessionOwner): string {
  return write([label, endpoint.name, principal, credential])
}

/** The capabilities stand behind a line feed as they were written, since JSON that is read and written again may differ. */
function packed({ revision, name, version, isBound, capabilities }: SealedFacts, nowMs: number): string {
  return `${write([nowMs, revision, isBound ? 1 : 0, name, version])}\n${capabilities}`
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined
}
