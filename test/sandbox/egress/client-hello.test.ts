// The name of the server in the first message of TLS, as real clients write it and as others might.

import assert from 'node:assert/strict'
import { Buffer } from 'node:buffer'
import { describe, test } from 'node:test'
import * as fc from 'fast-check'
import { type HelloFinding, findHello } from '../../../src/sandbox/egress/client-hello.js'
import { realHello } from '../support/hello.js'
import { numRuns } from '../../properties/runs.js'

/** The finding when so many bytes come at a time. */
function found(bytes: Buffer, size: number): HelloFinding | undefined {
  for (let end = size; end < bytes.length + size; end += size) {
    const said = findHello(bytes.subarray(0, end))
    if (said !== undefined) return said
  }
  return undefined
}

const u8 = (value: number): Buffer => Buffer.from([value])
const u16 = (value: number): Buffer => Buffer.from([value >> 8, value & 255])
const vector8 = (...parts: readonly Buffer[]): Buffer => {
  const bytes = Buffer.concat(parts)
  return Buffer.concat([u8(bytes.length), bytes])
}
const vector16 = (...parts: readonly Buffer[]): Buffer => {
  const bytes = Buffer.concat(parts)
  return Buffer.concat([u16(bytes.length), bytes])
}

const extension = (type: number, data: Buffer): Buffer => Buffer.concat([u16(type), vector16(data)])
const entry = (name: string, type = 0): Buffer => Buffer.concat([u8(type), vector16(Buffer.from(name))])
const serverName = (...entries: readonly Buffer[]): Buffer => extension(0, vector16(...entries))

/** Without a header. */
function body(...extensions: readonly Buffer[]): Buffer {
  return Buffer.concat([
    u16(0x303),
    Buffer.alloc(32),
    vector8(Buffer.alloc(32)),
    vector16(u16(0x1301)),
    vector8(u8(0)),
    vector16(...extensions),
  ])
}

function message(of: Buffer, type = 1): Buffer {
  return Buffer.concat([u8(type), u8(of.length >> 16), u16(of.length & 0xffff), of])
}

/** In records of at most so many bytes. */
function records(of: Buffer, size = 16_384, type = 22): Buffer {
  const parts: Buffer[] = []
  for (let at = 0; at < of.length; at += size)
    parts.push(u8(type), u16(0x301), vector16(of.subarray(at, at + size)))
  return Buffer.concat(parts)
}

const plain = serverName(entry('good.example'))

describe('the first message of TLS', () => {
  test('of a real client has its name, however it is cut', async () => {
    const hello = await realHello('good.example')
    for (const size of [1, 2, 3, 7, 100, hello.length])
      assert.deepEqual(found(hello, size), { kind: 'name', name: 'good.example' })
  })

  test('may come with early data behind it', () => {
    const early = records(Buffer.from('early'), 100, 23)
    const bytes = Buffer.concat([records(message(body(plain))), early])
    assert.deepEqual(findHello(bytes), { kind: 'name', name: 'good.example' })
  })

  const whole = message(body(plain))
  const refusals: readonly (readonly [title: string, bytes: Buffer, why: RegExp])[] = [
    ['HTTP', Buffer.from('GET / HTTP/1.1\r\n'), /no TLS/],
    ['SSH', Buffer.from('SSH-2.0-x\r\n'), /no TLS/],
    ['another version of records', Buffer.from([22, 2]), /no TLS/],
    ['data', records(whole, 16_384, 23), /no TLS/],
    ['the message of a server', records(message(body(plain), 2)), /none of a client/],
    ['an empty record', Buffer.concat([Buffer.from([22, 3, 1, 0, 0]), records(whole)]), /none of a client/],
    ['two records', records(whole, 60), /one record/],
    ['a length beyond all', records(Buffer.concat([u8(1), u8(1), u16(0), Buffer.alloc(9)])), /too long/],
    ['a second message behind it', records(Buffer.concat([whole, u8(1)])), /one record/],
    ['no name', records(message(body(extension(10, u16(0))))), /names no server/],
    ['a hidden name', records(message(body(plain, extension(0xfe0d, u16(0))))), /hides/],
    ['a hidden name of old', records(message(body(plain, extension(0xffce, u16(0))))), /hides/],
    ['two names', records(message(body(serverName(entry('a.example'), entry('b.example'))))), /damaged/],
    ['two lists of names', records(message(body(plain, serverName(entry('b.example'))))), /damaged/],
    ['a name of another kind', records(message(body(serverName(entry('a.example', 1))))), /damaged/],
    ['a name beyond its list', records(message(body(extension(0, vector16(u8(0), u16(9)))))), /damaged/],
    ['bytes behind its extensions', records(message(Buffer.concat([body(plain), u8(0)]))), /damaged/],
    ['an extension cut off', records(message(body(Buffer.concat([plain, u16(5), u16(9)])))), /damaged/],
  ]
  for (const [title, bytes, why] of refusals)
    test(`that is ${title} is refused`, () => {
      const said = findHello(bytes)
      assert(said?.kind === 'none', JSON.stringify(said))
      assert.match(said.why, why)
    })

  test('that is anything at all gives an answer or waits, and never throws', () => {
    const near = records(message(body(plain)))
    fc.assert(
      fc.property(
        fc.array(fc.tuple(fc.nat(near.length - 1), fc.nat(255)), { maxLength: 4 }),
        fc.integer({ min: 1, max: 200 }),
        (changes, size) => {
          const bytes = Buffer.from(near)
          for (const [at, value] of changes) bytes[at] = value
          const said = found(bytes, size)
          if (said?.kind === 'name') assert.deepEqual(said, findHello(bytes))
        },
      ),
      { numRuns: numRuns(500) },
    )
  })
})
