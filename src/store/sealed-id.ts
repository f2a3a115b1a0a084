// Session ids that every process with the key can open, so that a session outlives the process that made its id.
//
// An id is LABEL "." base64url(FORMAT, sealed facts). LABEL names the process that made the id. The seal covers
// the principal, its token and the endpoint without containing them, so an id opens only for its owner.

import { randomBytes } from 'node:crypto'
import { parse, write } from '../jsonrpc/text.js'
import type { Runtime } from '../runtime/runtime.js'
import type { SealedFacts, SessionIds, SessionOwner } from '../transports/http-server/session-ids.js'
import { Sealer } from './keys.js'

/** A client whose sealed id would be longer gets an ordinary id. */
const ID_LENGTH_MAX = 1024

const FORMAT = 1

/** The most by which the clocks of two instances may differ. */
const CLOCK_SKEW_MS = 60_000

export interface SealedIdsOptions {
  /** Returns at least one key. The first one seals, and all open. The array is the same until the keys change. */
  readonly keys: () => readonly string[]
  /** The name of this process among all processes with the key. */
  readonly label: string
  /** How long an id is valid. */
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
    // The decoder ignores invalid characters, but only one spelling of an id may open.
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

/** Names a process whose configuration has no name for it. */
export function newLabel({ secret = randomBytes }: Pick<Runtime, 'secret'>): string {
  return secret(3).toString('hex')
}

/** Draws random bytes in advance, because each system call for them costs as much as sealing an id. */
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

/** The source text of the capabilities follows a line feed, because parsing and writing may change JSON. */
function packed({ revision, name, version, isBound, capabilities }: SealedFacts, nowMs: number): string {
  return `${write([nowMs, revision, isBound ? 1 : 0, name, version])}\n${capabilities}`
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined
}
