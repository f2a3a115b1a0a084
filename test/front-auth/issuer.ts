// An authorization server as a resource server sees it: metadata, keys, introspection, and tokens of any shape.

import assert from 'node:assert/strict'
import { Buffer } from 'node:buffer'
import { type KeyObject, createHash, createHmac, generateKeyPairSync, sign } from 'node:crypto'
import { type IncomingMessage, type ServerResponse, createServer } from 'node:http'
import { text } from 'node:stream/consumers'
import { listening } from '../support/listening.js'
import type { Scope } from '../support/scope.js'

interface Key {
  readonly kid: string
  readonly privateKey: KeyObject
  readonly publicKey: KeyObject
}

export const part = (value: object | string): string =>
  Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)).toString('base64url')

interface Asked {
  readonly asked: URLSearchParams
  readonly person: string
}

const usualPath = '/.well-known/oauth-authorization-server/team'

export class Issuer {
  /** The paths that were asked for. */
  readonly asked: string[] = []
  readonly active: Map<string, object> = new Map()
  /** Keys that stand before the one with which tokens are signed. */
  readonly otherKeys: object[] = []
  /** It fails at the path that is usual, where this is another one. */
  metadataPath = usualPath
  /** How it fails there. */
  failure: 503 | 'reset' | 'too large' = 503
  /** Claims that replace those of its next ID tokens. */
  idClaims: object = {}
  readonly #codes = new Map<string, Asked>()
  /** In place of the address of its keys. */
  keysAddress: string | undefined
  /** Members that replace those of its metadata. */
  metadataChanges: object = {}
  /** Answers 500 to everything. */
  isDown = false
  #held: Promise<void> | undefined
  #keys: Key[] = []
  readonly #server = createServer((request, response) => void this.#answer(request, response))
  #origin = ''

  async listen(scope: Scope): Promise<this> {
    this.#origin = `http://127.0.0.1:${await listening(scope, this.#server)}`
    this.rotate('one')
    return this
  }

  /** Answers nothing until the result is called. */
  hold(): () => void {
    let release: (() => void) | undefined
    this.#held = new Promise((resolve) => (release = resolve))
    return () => release?.()
  }

  get issuer(): string {
    return `${this.#origin}/team`
  }

  /** The only key from now on. */
  rotate(kid: string): void {
    this.#keys = [{ kid, ...generateKeyPairSync('ec', { namedCurve: 'P-256' }) }]
  }

  /** A token with these claims and members of its header; undefined takes one away. */
  token(claims: object, header: object = {}): string {
    const [key] = this.#keys
    assert(key !== undefined)
    const input = this.#input({ alg: 'ES256', kid: key.kid, typ: 'at+jwt', ...header }, claims)
    const signature = sign('sha256', Buffer.from(input), { key: key.privateKey, dsaEncoding: 'ieee-p1363' })
    return `${input}.${signature.toString('base64url')}`
  }

  /** A token that is not signed. */
  unsigned(claims: object): string {
    return `${this.#input({ alg: 'none' }, claims)}.`
  }

  /** A token that is signed with the text of the public key, as a secret that both sides have. */
  signedByPublicKey(claims: object): string {
    const [key] = this.#keys
    assert(key !== undefined)
    const input = this.#input({ alg: 'HS256', kid: key.kid }, claims)
    const secret = key.publicKey.export({ type: 'spki', format: 'pem' })
    return `${input}.${createHmac('sha256', secret).update(input).digest('base64url')}`
  }

  /** How often the keys were asked for. */
  get keyRequests(): number {
    return this.asked.filter((path) => path === '/keys').length
  }

  #input(header: object, claims: object): string {
    return `${part(header)}.${part({ iss: this.issuer, ...claims })}`
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = request.url ?? ''
    this.asked.push(path)
    const body = await text(request)
    await this.#held
    if (path === usualPath && this.metadataPath !== usualPath && this.failure === 'reset')
      return void request.socket.resetAndDestroy()
    if (path.startsWith('/authorize?')) return this.#authorize(request, response)
    const [status, value] = this.isDown ? [500, {}] : this.#valueAt(path, request, body)
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value))
  }

  /** The person of the browser agrees without a page. */
  #authorize({ url = '', headers }: IncomingMessage, response: ServerResponse): void {
    const { searchParams: asked } = new URL(url, this.#origin)
    const back = new URL(asked.get('redirect_uri') ?? '')
    const code = `code-${this.#codes.size}`
    this.#codes.set(code, { asked, person: String(headers['x-person']) })
    back.searchParams.set('state', asked.get('state') ?? '')
    back.searchParams.set('code', code)
    response.writeHead(302, { location: back.href }).end()
  }

  #idToken(proof: string | undefined, sent: URLSearchParams): [number, object] {
    const code = this.#codes.get(sent.get('code') ?? '')
    this.#codes.delete(sent.get('code') ?? '')
    const challenge = createHash('sha256')
      .update(sent.get('code_verifier') ?? '')
      .digest('base64url')
    const isRight =
      proof === `Basic ${Buffer.from('front:s%25cret').toString('base64')}` &&
      code?.asked.get('code_challenge') === challenge &&
      code.asked.get('redirect_uri') === sent.get('redirect_uri')
    if (!isRight || code === undefined) return [400, { error: 'invalid_grant' }]
    const iat = Math.floor(Date.now() / 1000)
    const nonce = code.asked.get('nonce')
    const claims = { aud: 'front', sub: code.person, nonce, iat, exp: iat + 60, ...this.idClaims }
    return [200, { id_token: this.token(claims, { typ: 'JWT' }), access_token: 'a', token_type: 'Bearer' }]
  }

  #valueAt(path: string, { headers }: IncomingMessage, body: string): [number, object] {
    switch (path) {
      case this.metadataPath:
        return [
          200,
          {
            issuer: this.issuer,
            jwks_uri: this.keysAddress ?? `${this.#origin}/keys`,
            authorization_endpoint: `${this.#origin}/authorize`,
            token_endpoint: `${this.#origin}/token`,
            id_token_signing_alg_values_supported: ['ES256'],
            ...this.metadataChanges,
          },
        ]
      case usualPath:
        return this.failure === 503 ? [503, {}] : [200, { much: 'x'.repeat(300_000) }]
      case '/keys':
        return [
          200,
          {
            keys: [
              ...this.otherKeys,
              ...this.#keys.map(({ kid, publicKey }) => ({
                kid,
                use: 'sig',
                ...publicKey.export({ format: 'jwk' }),
              })),
            ],
          },
        ]
      case '/token':
        return this.#idToken(headers.authorization, new URLSearchParams(body))
      case '/introspect': {
        const isUs = headers.authorization === `Basic ${Buffer.from('front:s%25cret').toString('base64')}`
        const claims = this.active.get(new URLSearchParams(body).get('token') ?? '')
        return isUs
          ? [200, claims === undefined ? { active: false } : { active: true, ...claims }]
          : [401, {}]
      }
      default:
        return [404, {}]
    }
  }
}
