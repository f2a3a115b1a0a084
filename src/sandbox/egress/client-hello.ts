// The name of the server in the first message of TLS (RFC 8446, section 4.1.2; RFC 6066, section 3).
//
// Shared servers choose by this name which site a client reaches. The reader refuses unusual messages: a server that reads one
// differently would connect the program to another site.

import { Buffer } from 'node:buffer'

/** A message with the keys of newer groups has 2 KiB; no usual client sends more than this. */
const HELLO_BYTES_MAX = 16 * 1024

/** The most records that carry the message; nearly always there is one. */
const RECORDS_MAX = 8

const HANDSHAKE_RECORD = 22
const CLIENT_HELLO = 1
const RECORD_HEADER_BYTES = 5
const MESSAGE_HEADER_BYTES = 4
/** The version and the random bytes. */
const FIXED_BYTES = 2 + 32

/** Includes the extension that encrypted only the name, before ECH: some servers may still accept it. */
const extensions = { serverName: 0, encryptedHello: 0xfe0d, encryptedName: 0xffce } as const

const HOST_NAME = 0

/** The finding at the beginning of a connection. */
export type HelloFinding =
  { readonly kind: 'name'; readonly name: string } | { readonly kind: 'none'; readonly why: string }

/** A finding, and all bytes in which it was found, which go to the server. */
export interface FoundHello {
  readonly found: HelloFinding
  readonly rest: Buffer
}

export class HelloReader {
  #bytes: Buffer = Buffer.alloc(0)

  /** Returns undefined until the message is complete. */
  take(chunk: Buffer): FoundHello | undefined {
    this.#bytes = this.#bytes.length === 0 ? chunk : Buffer.concat([this.#bytes, chunk])
    const message = messageIn(this.#bytes)
    if (message === undefined) {
      return this.#bytes.length > HELLO_BYTES_MAX ? this.#none('its first message is too long') : undefined
    }
    return typeof message === 'string' ? this.#none(message) : { found: nameIn(message), rest: this.#bytes }
  }

  #none(why: string): FoundHello {
    return { found: { kind: 'none', why }, rest: this.#bytes }
  }
}

/** The body of the message from its records; undefined while it is incomplete, a reason when it is another message. */
function messageIn(bytes: Buffer): Buffer | string | undefined {
  const parts: Buffer[] = []
  let have = 0
  let at = 0
  for (let records = 0; bytes.length > at; records++) {
    if (records === RECORDS_MAX) return 'its first message is in too many pieces'
    if (bytes[at] !== HANDSHAKE_RECORD || (bytes[at + 1] ?? 3) !== 3) return 'it is no TLS'
    if (bytes.length < at + RECORD_HEADER_BYTES) return undefined
    const end = at + RECORD_HEADER_BYTES + bytes.readUInt16BE(at + 3)
    const part = bytes.subarray(at + RECORD_HEADER_BYTES, end)
    if (end === at + RECORD_HEADER_BYTES) return 'it has an empty record'
    parts.push(part)
    have += part.length
    const whole = Buffer.concat(parts, have)
    if (whole.length > 0 && whole[0] !== CLIENT_HELLO) return 'its first message is none of a client'
    if (whole.length >= MESSAGE_HEADER_BYTES) {
      const length = MESSAGE_HEADER_BYTES + whole.readUIntBE(1, 3)
      if (length > HELLO_BYTES_MAX) return 'its first message is too long'
      if (whole.length > length) return 'more than its first message comes at once'
      if (whole.length === length && bytes.length >= end) return whole.subarray(MESSAGE_HEADER_BYTES)
    }
    at = end
  }
  return undefined
}

function nameIn(message: Buffer): HelloFinding {
  const why = { kind: 'none', why: 'its first message is damaged' } as const
  const fields = new Fields(message)
  fields.skip(FIXED_BYTES)
  fields.vector(1)
  fields.vector(2)
  fields.vector(1)
  const list = fields.vector(2)
  if (list === undefined || fields.isBroken || !fields.isOver) return why
  const names: Buffer[] = []
  const all = new Fields(list)
  while (!all.isOver) {
    const type = all.number(2)
    const data = all.vector(2)
    if (data === undefined) return why
    if (type === extensions.serverName) names.push(data)
    if (type === extensions.encryptedHello || type === extensions.encryptedName)
      return { kind: 'none', why: 'it hides the name of the server' }
  }
  const [only, ...others] = names
  if (only === undefined) return { kind: 'none', why: 'it names no server' }
  return others.length > 0 ? why : hostNameIn(only)
}

/** Reads the name from a list that must have exactly one. */
function hostNameIn(data: Buffer): HelloFinding {
  const why = { kind: 'none', why: 'its name of the server is damaged' } as const
  const outer = new Fields(data)
  const list = outer.vector(2)
  if (list === undefined || !outer.isOver) return why
  const entry = new Fields(list)
  const type = entry.number(1)
  const name = entry.vector(2)
  if (type !== HOST_NAME || name === undefined || !entry.isOver) return why
  return { kind: 'name', name: name.toString('latin1') }
}

class Fields {
  readonly #bytes: Buffer
  #at = 0
  #isBroken = false

  constructor(bytes: Buffer) {
    this.#bytes = bytes
  }

  /** Whether a read went beyond the end. */
  get isBroken(): boolean {
    return this.#isBroken
  }

  get isOver(): boolean {
    return this.#isBroken || this.#at === this.#bytes.length
  }

  skip(bytes: number): void {
    this.#take(bytes)
  }

  number(bytes: number): number | undefined {
    return this.#take(bytes)?.readUIntBE(0, bytes)
  }

  /** Reads a length of this many bytes, and then that many bytes. */
  vector(lengthBytes: number): Buffer | undefined {
    const length = this.number(lengthBytes)
    return length === undefined ? undefined : this.#take(length)
  }

  #take(bytes: number): Buffer | undefined {
    const end = this.#at + bytes
    if (this.#isBroken || end > this.#bytes.length) {
      this.#isBroken = true
      return undefined
    }
    const taken = this.#bytes.subarray(this.#at, end)
    this.#at = end
    return taken
  }
}
