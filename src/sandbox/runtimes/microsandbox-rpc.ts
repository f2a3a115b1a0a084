// JSON-RPC over HTTP with a microsandbox server of the versions 0.2.

import { Buffer } from 'node:buffer'
import { type IncomingMessage, request as httpRequest } from 'node:http'
import { request as httpsRequest } from 'node:https'
import { parse, write } from '../../jsonrpc/text.js'
import type { Clock } from '../../runtime/deadline.js'

/** More is no answer of such a server. */
const ANSWER_BYTES_MAX = 64 * 1024 * 1024

/** Attempts of what may be done twice, and the wait before the second; it doubles. */
const ATTEMPTS_MAX = 3
const RETRY_MS = 250

/** The server has not done what it was asked. */
export class RpcFailure extends Error {
  override readonly name = 'RpcFailure'
  readonly kind: 'unreachable' | 'refused' | 'unknown-method' | 'failed'

  constructor(kind: RpcFailure['kind'], message: string) {
    super(message)
    this.kind = kind
  }
}

export interface RpcTerms {
  readonly timeoutMs: number
  readonly signal?: AbortSignal
  /** Whether it may be asked again when no answer came. */
  readonly isRepeatable: boolean
}

interface Answer {
  readonly status: number
  readonly text: string
}

/** Asks one server. */
export class MicrosandboxRpc {
  readonly #base: string
  readonly #apiKey: string | undefined
  readonly #clock: Clock
  #last = 0

  constructor(serverUrl: string, apiKey: string | undefined, clock: Clock) {
    this.#base = serverUrl.replace(/\/+$/, '')
    this.#apiKey = apiKey
    this.#clock = clock
  }

  /** @throws RpcFailure */
  async health(timeoutMs: number): Promise<void> {
    const { status } = await this.#send('GET', '/api/v1/health', undefined, {
      timeoutMs,
      isRepeatable: false,
    })
    if (status !== 200) throw new RpcFailure('failed', `its health is HTTP ${status}`)
  }

  /** The result. @throws RpcFailure */
  async call(method: string, params: object, terms: RpcTerms): Promise<unknown> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.#callOnce(method, params, terms)
      } catch (error) {
        const isLost = error instanceof RpcFailure && error.kind === 'unreachable'
        if (!isLost || !terms.isRepeatable || attempt >= ATTEMPTS_MAX || terms.signal?.aborted === true)
          throw error
        await this.#wait(RETRY_MS * 2 ** (attempt - 1))
      }
    }
  }

  async #callOnce(method: string, params: object, terms: RpcTerms): Promise<unknown> {
    const body = write({ jsonrpc: '2.0', method, params, id: ++this.#last })
    const { status, text } = await this.#send('POST', '/api/v1/rpc', body, terms)
    const { result, error } = membersOf(text)
    if (status === 401)
      throw new RpcFailure('refused', `it refuses the key: ${messageOf(error)}; check MSB_API_KEY`)
    if (status === 404)
      throw new RpcFailure('unknown-method', `it does not know ${method}; it must be microsandbox 0.2`)
    if (error !== undefined) throw new RpcFailure('failed', messageOf(error))
    if (status !== 200) throw new RpcFailure('failed', `HTTP ${status}`)
    return result
  }

  #send(verb: string, path: string, body: string | undefined, terms: RpcTerms): Promise<Answer> {
    const { timeoutMs, signal } = terms
    const url = new URL(this.#base + path)
    const send = url.protocol === 'https:' ? httpsRequest : httpRequest
    const headers = {
      ...(body !== undefined && {
        'content-type': 'application/json',
        'content-length': Buffer.byteLength(body),
      }),
      ...(this.#apiKey !== undefined && { authorization: `Bearer ${this.#apiKey}` }),
    }
    return new Promise((resolve, reject) => {
      const lost = (why: string): void => reject(new RpcFailure('unreachable', why))
      const asked = send(url, { method: verb, headers, ...(signal && { signal }) })
      const timer = this.#clock.setTimer(timeoutMs, () => asked.destroy(new Error('no answer in time')))
      asked.on('close', () => timer.cancel())
      asked.on('error', (error) => lost(reasonOf(error)))
      asked.on('response', (response) => {
        bodyOf(response).then(
          (text) => resolve({ status: response.statusCode ?? 0, text }),
          (error: unknown) => lost(reasonOf(error)),
        )
      })
      asked.end(body)
    })
  }

  #wait(delayMs: number): Promise<void> {
    return new Promise((resolve) => {
      this.#clock.setTimer(delayMs, resolve)
    })
  }
}

async function bodyOf(response: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of response) {
    const part = Buffer.from(chunk)
    bytes += part.length
    if (bytes > ANSWER_BYTES_MAX) throw new Error('its answer is too long')
    chunks.push(part)
  }
  return Buffer.concat(chunks).toString('utf8')
}

function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  return 'code' in error && typeof error.code === 'string' && error.message === ''
    ? error.code
    : error.message
}

function membersOf(text: string): { readonly result?: unknown; readonly error?: unknown } {
  try {
    const value = parse(text)
    return typeof value === 'object' && value !== null ? value : {}
  } catch {
    return {}
  }
}

/** Some errors are objects of JSON-RPC, others a text. */
function messageOf(error: unknown): string {
  if (typeof error === 'string') return error
  const message =
    typeof error === 'object' && error !== null && 'message' in error ? error.message : undefined
  return typeof message === 'string' ? message : 'no reason given'
}
