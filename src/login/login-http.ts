// Requests to authorization servers, and for the metadata of the resource.
//
// They use the proxy of the environment and the HTTP reader of the transport, as all requests to remote servers
// do. A redirect is not followed, because it could lead a token request to another server.

import { Buffer } from 'node:buffer'
import { type LookupAddress, lookup } from 'node:dns'
import { type LookupFunction, isIP } from 'node:net'
import { within } from '../runtime/deadline.js'
import type { Runtime } from '../runtime/runtime.js'
import { HttpAgent, type HttpAnswer, dialFor } from '../transports/http1/client.js'
import { joinedLine } from '../jsonrpc/long-line.js'
import { readWhole } from '../transports/http-client/answer.js'
import { proxyFor } from '../transports/http-client/proxy-choice.js'
import { LoginError } from './login-error.js'
import { type AddressKind, addressKind } from '../text/address-kind.js'
import { isLoopback } from '../text/loopback.js'

/** Answers of an authorization server have some hundred bytes, and its metadata some thousand. */
const BODY_BYTES_MAX = 256 * 1024

const ANSWER_MS = 10_000

const limits = { socketsMax: 1, idleSocketMs: 0 }

export interface LoginRequest {
  readonly method?: 'GET' | 'POST'
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string | undefined
}

export interface LoginResponse {
  readonly status: number
  /** Returns the values of all fields with this name. The name is in lower case. */
  all(name: string): readonly string[]
  readonly text: string
}

/** Makes one request. @throws LoginError */
export type LoginHttp = (url: URL, request?: LoginRequest) => Promise<LoginResponse>

export type LoginRuntime = Pick<Runtime, 'env' | 'now' | 'wallNow' | 'setTimer' | 'connect'>

/**
 * Requests reach private or loopback addresses only if `server`, which needs the login, has one too; `true`
 * allows them. Behind an HTTP proxy, which resolves names, only IP addresses are checked.
 */
export function loginHttp(runtime: LoginRuntime, server: URL | boolean): LoginHttp {
  const isNear = server instanceof URL ? isLoopback(server.hostname) : server
  let reach: Promise<Reach> | undefined
  return async (url, request = {}) => {
    const isHere = isLoopback(url.hostname)
    if (url.protocol !== 'https:' && !(url.protocol === 'http:' && isHere))
      throw new LoginError(`${url.origin} is not asked: a login needs https`)
    if (isHere && !isNear)
      throw new LoginError(`${url.origin} is not asked: a remote server points to this machine`)
    const proxy = proxyFor(url, { own: undefined, env: runtime.env })
    if (server instanceof URL) reach ??= reachOf(server)
    const allowed = await reach
    allowed?.check(url)
    const way = { proxy, lookup: allowed?.lookup, connect: runtime.connect }
    const agent = new HttpAgent(url, limits, await dialFor(url, way))
    try {
      const response = await within(exchange(agent, url, request), ANSWER_MS, runtime)
      if (response === undefined)
        throw new LoginError(`${url.host} did not answer within ${ANSWER_MS / 1000} s`)
      return response
    } finally {
      agent.destroy()
    }
  }
}

function exchange(
  agent: HttpAgent,
  url: URL,
  { method = 'GET', headers = {}, body }: LoginRequest,
): Promise<LoginResponse> {
  const bytes = body === undefined ? undefined : Buffer.from(body)
  const fields = {
    Host: url.host,
    Accept: 'application/json',
    'User-Agent': 'mcps-proxy',
    ...headers,
    ...(bytes !== undefined && { 'Content-Length': String(bytes.length) }),
    Connection: 'close',
  }
  const lines = Object.entries(fields).map(([name, value]) => `${name}: ${value}\r\n`)
  const head = `${method} ${url.pathname}${url.search} HTTP/1.1\r\n${lines.join('')}\r\n`
  return new Promise((resolve, reject) => {
    const failed = (why: string): void => reject(new LoginError(`${url.host} cannot be reached: ${why}`))
    agent.request(head, bytes, {
      failed: (error) => failed(error.message),
      responded: (answer: HttpAnswer) =>
        readWhole(answer, BODY_BYTES_MAX, (whole, why) => {
          if (whole === undefined)
            return failed(why === 'too-large' ? 'its answer is too large' : 'its answer was cut')
          const text = joinedLine(whole).toString('utf8')
          resolve({ status: answer.status, all: (name) => answer.fields.all(name), text })
        }),
    })
  })
}

/** HTTP Basic with form encoding (RFC 6749, section 2.3.1). Many servers do not decode `-`, which oauth4webapi encodes. */
export function basicField(id: string, secret: string): string {
  const encoded = [id, secret].map((each) => new URLSearchParams({ '': each }).toString().slice(1))
  return `Basic ${Buffer.from(encoded.join(':')).toString('base64')}`
}

// The addresses that the requests of a login may reach.
//
// A server on the internet names its authorization server and its metadata. Neither a URL nor a name that it
// chooses may lead the proxy into the network of the person, to this machine, or to the metadata server of a cloud.

interface Reach {
  /** @throws LoginError for an address that is not allowed */
  check(url: URL): void
  readonly lookup: LookupFunction
}

/** Returns the allowed addresses of a login: public ones, and those of the same kind as the server's. */
export async function reachOf(server: URL): Promise<Reach> {
  const own = await ownKind(server)
  const isAllowed = (address: string): boolean => {
    const kind = addressKind(address)
    return kind === 'public' || kind === own || (kind === 'private' && own === 'loopback')
  }
  return {
    check: (url) => {
      const host = url.hostname.replace(/^\[|\]$/g, '')
      if (isIP(host) !== 0 && !isAllowed(host)) throw new LoginError(`${url.origin} is not asked: ${refusal}`)
    },
    lookup: (name, options, done) =>
      lookup(name, { ...options, all: true }, (error, found) => {
        const allowed = error === null ? found.filter(({ address }) => isAllowed(address)) : []
        const [first] = allowed
        if (first === undefined) done(error ?? new Error(refusal), options.all === true ? [] : '')
        else if (options.all === true) done(null, allowed)
        else done(null, first.address, first.family)
      }),
  }
}

const refusal = 'its address is one of this network or machine, and that of the server is not'

/** A name is public unless all its addresses are of one other kind. A name that does not resolve here is public. */
async function ownKind({ hostname }: URL): Promise<AddressKind> {
  const host = hostname.replace(/^\[|\]$/g, '')
  if (isIP(host) !== 0) return addressKind(host)
  const found = await new Promise<readonly LookupAddress[]>((resolve) =>
    lookup(host, { all: true }, (error, addresses) => resolve(error === null ? addresses : [])),
  )
  const [first, ...others] = found.map(({ address }) => addressKind(address))
  return first !== undefined && others.every((kind) => kind === first) ? first : 'public'
}
