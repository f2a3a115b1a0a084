// The `requestState` that a client without sessions carries from one round of a call to the next.
//
// MCP 2026-07-28, Multi Round-Trip Requests: the state goes through the client, which may change it, keep it, or give
// it to somebody else. So each one is sealed with AES-256-GCM, for one principal, one method, one tool, prompt or
// resource, and a limited time, or as long as its call is known. What another instance has sealed with the same key opens here too.
//
// A state is the base64url of: 4 bytes that name the key, 12 of the nonce, the ciphertext, 16 of the tag.

import { createCipheriv, createDecipheriv, createHash, hkdfSync, randomBytes } from 'node:crypto'
import { parse, write } from '../../jsonrpc/text.js'
import type { Runtime } from '../../runtime/runtime.js'

/** What a state stands for. */
export type SealedState =
  /** The server's own, as it was written, quotes included; undefined where it gave none. */
  | { readonly kind: 'relay'; readonly service: string; readonly state: string | undefined }
  /** A call that was refused until a page is visited, and is made again in one instance of the proxy. */
  | { readonly kind: 'visit'; readonly service: string; readonly instance: string; readonly call: string }
  /** A call that waits for answers in one instance of the proxy. */
  | { readonly kind: 'parked'; readonly instance: string; readonly call: string; readonly round: number }

/** The request that a state belongs to; another one does not open it. */
export interface StateBinding {
  readonly principal: string
  readonly method: string
  /** The name of the tool or prompt, or the URI of the resource. */
  readonly target: string
}

/** What became of a state that a client has sent. */
export type OpenedState =
  | { readonly kind: 'opened'; readonly state: SealedState }
  | { readonly kind: 'refused'; readonly why: 'expired' | 'unknown' }

const KEY_NAME_BYTES = 4
const NONCE_BYTES = 12
const TAG_BYTES = 16
const KEY_BYTES = 32
const ALGORITHM = 'aes-256-gcm'

interface StateKey {
  readonly name: Buffer
  readonly key: Buffer
}

/** A key made from a secret of whatever length; `schema` has its own, since its servers are others of the same names. */
function keyOf(secret: string | Buffer, schema: string): StateKey {
  const key = Buffer.from(hkdfSync('sha256', secret, schema, 'mcps-proxy requestState', KEY_BYTES))
  const name = createHash('sha256').update(key).digest().subarray(0, KEY_NAME_BYTES)
  return { name, key }
}

export interface SealSurroundings {
  /** In milliseconds since 1970: other instances open what this one has sealed. */
  wallNow(): number
  /** Bytes that nobody can guess. */
  secret(bytes: number): Buffer
}

/** Seals with the first of its keys, and opens with each. */
export class StateSeal {
  readonly #current: StateKey
  readonly #keys: readonly StateKey[]
  readonly #around: SealSurroundings

  /** `secrets` are what states are sealed with, and what they were sealed with before; without any, a key of this process. */
  constructor(secrets: readonly string[], schema: string, around: SealSurroundings) {
    const keys = secrets.map((secret) => keyOf(secret, schema))
    this.#current = keys[0] ?? keyOf(around.secret(KEY_BYTES), schema)
    this.#keys = keys.length === 0 ? [this.#current] : keys
    this.#around = around
  }

  /** Opens for `lifeMs` from now, in milliseconds; without it, for as long as what it stands for is known. */
  seal(state: SealedState, binding: StateBinding, lifeMs?: number): string {
    const { name, key } = this.#current
    const nonce = this.#around.secret(NONCE_BYTES)
    const cipher = createCipheriv(ALGORITHM, key, nonce).setAAD(bound(binding))
    const until = lifeMs === undefined ? undefined : this.#around.wallNow() + lifeMs
    const content = write({ ...state, until })
    const text = Buffer.concat([cipher.update(content, 'utf8'), cipher.final()])
    return Buffer.concat([name, nonce, text, cipher.getAuthTag()]).toString('base64url')
  }

  open(text: string, binding: StateBinding): OpenedState {
    const bytes = Buffer.from(text, 'base64url')
    // Other spellings of the same bytes are none of ours.
    const content = bytes.toString('base64url') === text ? this.#decipher(bytes, binding) : undefined
    const sealed = content === undefined ? undefined : sealedState(parse(content))
    if (sealed === undefined) return { kind: 'refused', why: 'unknown' }
    if (sealed.until !== undefined && sealed.until <= this.#around.wallNow())
      return { kind: 'refused', why: 'expired' }
    return { kind: 'opened', state: sealed.state }
  }

  /** Undefined when nobody here has sealed it, or it belongs to another request. */
  #decipher(bytes: Buffer, binding: StateBinding): string | undefined {
    const textAt = KEY_NAME_BYTES + NONCE_BYTES
    const textEnd = bytes.length - TAG_BYTES
    const name = bytes.subarray(0, KEY_NAME_BYTES)
    const key = this.#keys.find((known) => known.name.equals(name))?.key
    if (key === undefined || textEnd <= textAt) return undefined
    const decipher = createDecipheriv(ALGORITHM, key, bytes.subarray(KEY_NAME_BYTES, textAt), {
      authTagLength: TAG_BYTES,
    })
    decipher.setAAD(bound(binding)).setAuthTag(bytes.subarray(textEnd))
    try {
      return Buffer.concat([decipher.update(bytes.subarray(textAt, textEnd)), decipher.final()]).toString()
    } catch {
      return undefined
    }
  }
}

/** Gives bytes that nobody can guess. */
export function secretOf({ secret }: Pick<Runtime, 'secret'>): (bytes: number) => Buffer {
  return secret ?? ((bytes) => randomBytes(bytes))
}

function bound({ principal, method, target }: StateBinding): Buffer {
  return Buffer.from(write([principal, method, target]))
}

interface Sealed {
  readonly state: SealedState
  readonly until: number | undefined
}

/** What was sealed; another version of the proxy may have sealed something else. */
function sealedState(value: unknown): Sealed | undefined {
  const { kind, until, service, state, instance, call, round } = membersOf(value)
  if (until !== undefined && typeof until !== 'number') return undefined
  if (kind === 'relay' && typeof service === 'string' && (state === undefined || typeof state === 'string'))
    return { state: { kind, service, state }, until }
  if (typeof instance !== 'string' || typeof call !== 'string') return undefined
  if (kind === 'visit' && typeof service === 'string')
    return { state: { kind, service, instance, call }, until }
  const isParked = kind === 'parked' && typeof round === 'number'
  return isParked ? { state: { kind, instance, call, round }, until } : undefined
}

function membersOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? { ...value } : {}
}
