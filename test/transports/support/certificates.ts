// Certificates for tests: X.509 version 3 (RFC 5280), encoded in DER here.

import { type KeyObject, generateKeyPairSync, randomBytes, sign } from 'node:crypto'

export interface Certificate {
  /** PEM, as `node:https` takes them. */
  readonly cert: string
  readonly key: string
}

export interface CertificateOptions {
  /** Host names and addresses of the subject. */
  readonly names?: readonly string[]
  /** The issuer. By default the certificate is self-signed. */
  readonly by?: Authority
  /** Days from now. */
  readonly from?: number
  readonly until?: number
}

export class Authority {
  readonly name: string
  readonly privateKey: KeyObject
  readonly cert: string

  constructor(name: string) {
    const { privateKey, publicKey } = newKeys()
    this.name = name
    this.privateKey = privateKey
    const body = toBeSigned({
      subject: name,
      issuer: name,
      publicKey,
      isAuthority: true,
      names: [],
      from: -1,
      until: 30,
    })
    this.cert = signed(body, privateKey)
  }
}

/** A certificate for `names`. By default it is valid now. */
export function certificate({
  names = ['localhost'],
  by,
  from = -1,
  until = 30,
}: CertificateOptions): Certificate {
  const { privateKey, publicKey } = newKeys()
  const subject = names[0] ?? 'nobody'
  const body = toBeSigned({
    subject,
    issuer: by?.name ?? subject,
    publicKey,
    isAuthority: false,
    names,
    from,
    until,
  })
  const key = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()
  return { cert: signed(body, by?.privateKey ?? privateKey), key }
}

function newKeys(): { privateKey: KeyObject; publicKey: KeyObject } {
  return generateKeyPairSync('ec', { namedCurve: 'P-256' })
}

interface Body {
  readonly subject: string
  readonly issuer: string
  readonly publicKey: KeyObject
  readonly isAuthority: boolean
  readonly names: readonly string[]
  readonly from: number
  readonly until: number
}

const ecdsaWithSha256 = sequence(oid('2a8648ce3d040302'))

function toBeSigned({ subject, issuer, publicKey, isAuthority, names, from, until }: Body): Buffer {
  const extensions = [
    extension('551d13', sequence(...(isAuthority ? [boolean(true)] : []))),
    ...(names.length > 0 ? [extension('551d11', sequence(...names.map(alternative)))] : []),
  ]
  return sequence(
    tagged(0xa0, integer(Buffer.from([2]))),
    integer(Buffer.concat([Buffer.from([1]), randomBytes(8)])),
    ecdsaWithSha256,
    name(issuer),
    sequence(time(from), time(until)),
    name(subject),
    Buffer.from(publicKey.export({ type: 'spki', format: 'der' })),
    tagged(0xa3, sequence(...extensions)),
  )
}

function signed(body: Buffer, key: KeyObject): string {
  const signature = Buffer.concat([Buffer.from([0]), sign('sha256', body, key)])
  const der = sequence(body, ecdsaWithSha256, tagged(0x03, signature))
  const lines = der.toString('base64').match(/.{1,64}/g) ?? []
  return `-----BEGIN CERTIFICATE-----\n${lines.join('\n')}\n-----END CERTIFICATE-----\n`
}

function extension(id: string, value: Buffer): Buffer {
  return sequence(oid(id), tagged(0x04, value))
}

/** A subject alternative name: an IPv4 address, or a host name. */
function alternative(text: string): Buffer {
  return /^[\d.]+$/.test(text)
    ? tagged(0x87, Buffer.from(text.split('.').map(Number)))
    : tagged(0x82, Buffer.from(text))
}

function name(common: string): Buffer {
  return sequence(tagged(0x31, sequence(oid('550403'), tagged(0x0c, Buffer.from(common)))))
}

function time(days: number): Buffer {
  const text = new Date(Date.now() + days * 86_400_000).toISOString().replaceAll(/[-:T]|\.\d+/g, '')
  return tagged(0x18, Buffer.from(text))
}

function sequence(...parts: readonly Buffer[]): Buffer {
  return tagged(0x30, Buffer.concat(parts))
}

function integer(bytes: Buffer): Buffer {
  return tagged(0x02, bytes)
}

function boolean(value: boolean): Buffer {
  return tagged(0x01, Buffer.from([value ? 0xff : 0]))
}

function oid(hex: string): Buffer {
  return tagged(0x06, Buffer.from(hex, 'hex'))
}

/** A tag, the length in the short or the long form, and the content. */
function tagged(tag: number, content: Buffer): Buffer {
  const bytes = content.length < 0x100 ? [content.length] : [content.length >> 8, content.length & 0xff]
  const length = content.length < 0x80 ? bytes : [0x80 | bytes.length, ...bytes]
  return Buffer.concat([Buffer.from([tag, ...length]), content])
}
