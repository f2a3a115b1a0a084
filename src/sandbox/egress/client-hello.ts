// The name of the server in the first message of TLS (RFC 8446, section 4.1.2; RFC 6066, section 3).
//
// Shared servers select the site by this name. The reader refuses unusual messages, because a server that reads
// one differently would connect the program to another site.

import { Buffer } from 'node:buffer'

/** A message with keys of newer groups has 2 KiB. Common clients send less than the limit. */
const HELLO_BYTES_MAX = 16 * 1024

const HANDSHAKE_RECORD = 22
const CLIENT_HELLO = 1
const RECORD_HEADER_BYTES = 5
/** The headers of the record and of the message. */
const HEADERS_BYTES = RECORD_HEADER_BYTES + 4
/** The version and the random bytes. */
const FIXED_BYTES = 2 + 32

/** Includes the extension before ECH that encrypted only the name. Some servers may still accept it. */
const extensions = { serverName: 0, encryptedHello: 0xfe0d, encryptedName: 0xffce } as const

const HOST_NAME = 0

/** The result of the search at the beginning of a connection. */
export type HelloFinding =
  { readonly kind: 'name'; readonly name: string } | { readonly kind: 'none'; readonly why: string }

/** Undefined until the message is complete. `bytes` are all bytes so far. Common clients send it as one record. */
export function findHello(bytes: Buffer): HelloFinding | undefined {
  if (bytes.length === 0) return undefined
  if (bytes[0] !== HANDSHAKE_RECORD || (bytes[1] ?? 3) !== 3) return none('it is no TLS')
  if (bytes.length < HEADERS_BYTES) return undefined
  if (bytes[RECORD_HEADER_BYTES] !== CLIENT_HELLO) return none('its first message is none of a client')
  const end = RECORD_HEADER_BYTES + bytes.readUInt16BE(3)
  const messageBytes = bytes.readUIntBE(6, 3)
  if (messageBytes > HELLO_BYTES_MAX) return none('its first message is too long')
  if (HEADERS_BYTES + messageBytes !== end) return none('its first message is not one record')
  return bytes.length < end ? undefined : nameIn(bytes.subarray(HEADERS_BYTES, end))
}

function none(why: string): HelloFinding {
  return { kind: 'none', why }
}

function nameIn(message: Buffer): HelloFinding {
  try {
    const names: Buffer[] = []
    for (const [type, data] of extensionsIn(message)) {
      if (type === extensions.serverName) names.push(data)
      if (type === extensions.encryptedHello || type === extensions.encryptedName)
        return none('it hides the name of the server')
    }
    const [only, ...others] = names
    if (only === undefined) return none('it names no server')
    if (others.length > 0) throw new RangeError('two lists of names')
    return { kind: 'name', name: hostNameIn(only) }
  } catch {
    return none('its first message is damaged')
  }
}

/** @throws RangeError if the parts of the message do not fit */
function extensionsIn(message: Buffer): (readonly [type: number, data: Buffer])[] {
  let [, rest] = vector(message.subarray(FIXED_BYTES), 1)
  ;[, rest] = vector(rest, 2)
  ;[, rest] = vector(rest, 1)
  const found: (readonly [number, Buffer])[] = []
  for (let list = whole(rest, 2); list.length > 0;) {
    const type = list.readUInt16BE()
    const [data, others] = vector(list.subarray(2), 2)
    found.push([type, data])
    list = others
  }
  return found
}

function hostNameIn(data: Buffer): string {
  const entry = whole(data, 2)
  if (entry.readUInt8() !== HOST_NAME) throw new RangeError('a name of another kind')
  return whole(entry.subarray(1), 2).toString('latin1')
}

/** Reads a length of `lengthBytes` bytes and that many bytes. Returns both parts. @throws RangeError */
function vector(bytes: Buffer, lengthBytes: 1 | 2): readonly [data: Buffer, others: Buffer] {
  const end = lengthBytes + bytes.readUIntBE(0, lengthBytes)
  if (end > bytes.length) throw new RangeError('it ends too early')
  return [bytes.subarray(lengthBytes, end), bytes.subarray(end)]
}

/** Reads as `vector` does, but nothing may follow. @throws RangeError */
function whole(bytes: Buffer, lengthBytes: 1 | 2): Buffer {
  const [data, others] = vector(bytes, lengthBytes)
  if (others.length > 0) throw new RangeError('more follows')
  return data
}
