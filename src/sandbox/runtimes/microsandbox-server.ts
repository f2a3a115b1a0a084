// Sessions on a microsandbox server of the versions 0.2: small virtual machines, controlled over HTTP.
//
// The server runs code and commands and responds when they have ended. It reports no output meanwhile and interrupts nothing, so
// a run that takes too long ends with its session.

import { Buffer } from 'node:buffer'
import { randomBytes } from 'node:crypto'
import { type IncomingMessage, request as httpRequest } from 'node:http'
import { request as httpsRequest } from 'node:https'
import { parse, write } from '../../jsonrpc/text.js'
import type { Clock } from '../../runtime/deadline.js'
import type { LogSink, Runtime } from '../../runtime/runtime.js'
import { SandboxError, connectionFailed, executionFailed } from '../errors.js'
import {
  type Evaluation,
  type EvaluationTerms,
  type Evaluator,
  type GuestCommand,
  type MachineEnd,
  type MachineSpec,
  MachineStartError,
  type RuntimeProbe,
  type SandboxRuntime,
} from '../runtime.js'
import { errorText } from '../../text/error-text.js'

/** The only namespace that servers have. */
const namespace = 'default'

const PROBE_MS = 5000
const STOP_MS = 30_000
/** The extra time of a response, after the timeout that the server got. */
const MARGIN_MS = 5000
const NAME_BYTES = 4

export class MicrosandboxServerRuntime implements SandboxRuntime {
  readonly id = 'microsandbox-server'
  readonly isolation = 'vm'
  readonly networks = ['none', 'host'] as const
  readonly fixedNetwork = 'as its server has it'
  readonly #log: LogSink
  readonly #rpc: MicrosandboxRpc | undefined
  /** Part of the names of this service's sandboxes, which keeps it from stopping those of other services. */
  readonly #instance = randomBytes(NAME_BYTES).toString('hex')
  readonly #running = new Map<string, RemoteEvaluator>()
  /** Sandboxes that the service could not stop; the next sweep tries again. */
  readonly #left = new Set<string>()

  constructor(serverUrl: string | undefined, apiKey: string | undefined, runtime: Runtime, log: LogSink) {
    this.#log = log
    this.#rpc = serverUrl === undefined ? undefined : new MicrosandboxRpc(serverUrl, apiKey, runtime)
  }

  async probe(): Promise<RuntimeProbe> {
    const remedy = 'start one with: msb server start, and set MSB_SERVER_URL to its address'
    if (this.#rpc === undefined) return { kind: 'unusable', why: 'no address of a server is set', remedy }
    try {
      await this.#rpc.health(PROBE_MS)
      return { kind: 'usable', limits: 'the server' }
    } catch (error) {
      return { kind: 'unusable', why: `the server cannot be reached: ${errorText(error)}`, remedy }
    }
  }

  async start(spec: MachineSpec): Promise<Evaluator> {
    const rpc = this.#rpc
    if (rpc === undefined) throw new MachineStartError('no address of a microsandbox server is set')
    const sandbox = `session-${randomBytes(NAME_BYTES).toString('hex')}-${this.#instance}`
    const params = { sandbox, namespace, config: configOf(spec) }
    try {
      const said = await rpc.call('sandbox.start', params, {
        timeoutMs: spec.startTimeoutMs,
        isRepeatable: true,
      })
      if (typeof said === 'string' && /timed out/i.test(said)) throw new MachineStartError(said)
    } catch (error) {
      await this.#stop(sandbox)
      if (error instanceof RpcFailure && error.kind !== 'failed')
        throw connectionFailed(`the microsandbox server: ${error.message}`, { method: 'sandbox.start' })
      throw new MachineStartError(errorText(error))
    }
    const evaluator = new RemoteEvaluator(rpc, sandbox, spec.language, () => this.#stop(sandbox))
    this.#running.set(sandbox, evaluator)
    return evaluator
  }

  async discard(): Promise<void> {}

  async sweep(): Promise<void> {
    await Promise.all([...this.#left].map((sandbox) => this.#stop(sandbox)))
  }

  async close(): Promise<void> {
    await Promise.all([...this.#running.values()].map((evaluator) => evaluator.stop()))
    await this.sweep()
  }

  async #stop(sandbox: string): Promise<void> {
    this.#running.delete(sandbox)
    this.#left.add(sandbox)
    try {
      await this.#rpc?.call(
        'sandbox.stop',
        { sandbox, namespace },
        { timeoutMs: STOP_MS, isRepeatable: true },
      )
      this.#left.delete(sandbox)
    } catch (error) {
      // The error of the server means that the sandbox is already gone.
      if (error instanceof RpcFailure && error.kind === 'failed') this.#left.delete(sandbox)
      const message = `sandbox ${sandbox} could not be stopped: ${errorText(error)}`
      this.#log({ level: 'warn', message })
    }
  }
}

class RemoteEvaluator implements Evaluator {
  readonly kind = 'evaluator'
  readonly ended: Promise<MachineEnd>
  readonly #rpc: MicrosandboxRpc
  readonly #sandbox: string
  readonly #language: string
  readonly #release: () => Promise<void>
  #end: (end: MachineEnd) => void = () => {}
  #stopping: Promise<void> | undefined

  constructor(rpc: MicrosandboxRpc, sandbox: string, language: string, release: () => Promise<void>) {
    this.#rpc = rpc
    this.#sandbox = sandbox
    this.#language = language
    this.#release = release
    this.ended = new Promise((resolve) => {
      this.#end = resolve
    })
  }

  async evaluate(
    what: { readonly code: string } | GuestCommand,
    terms: EvaluationTerms,
  ): Promise<Evaluation> {
    const place = { sandbox: this.#sandbox, namespace, timeout: Math.ceil(terms.timeoutMs / 1000) }
    if ('code' in what) {
      const params = { ...place, code: what.code, language: this.#language }
      const streams = streamsOf(await this.#ask('Code', 'sandbox.repl.run', params, terms))
      return { ...streams, exitCode: streams.stderr === '' ? 0 : 1 }
    }
    const params = { ...place, command: what.program, args: what.args }
    const result = await this.#ask('Command', 'sandbox.command.run', params, terms)
    const said = typeof result === 'object' && result !== null && 'exit_code' in result ? result.exit_code : 1
    return { ...streamsOf(result), exitCode: typeof said === 'number' ? said : 1 }
  }

  stop(): Promise<void> {
    this.#stopping ??= this.#finish({ reason: 'stopped', message: 'the session was stopped' })
    return this.#stopping
  }

  async #finish(end: MachineEnd): Promise<void> {
    this.#end(end)
    await this.#release()
  }

  /** Sends a request once only, because after a failure the part that has run is unknown. */
  async #ask(
    called: 'Code' | 'Command',
    method: string,
    params: object,
    { timeoutMs, signal }: EvaluationTerms,
  ): Promise<unknown> {
    try {
      const asked = { timeoutMs: timeoutMs + MARGIN_MS, signal, isRepeatable: false }
      return await this.#rpc.call(method, params, asked)
    } catch (error) {
      if (signal.aborted) throw error
      throw this.#failed(called, method, error)
    }
  }

  #failed(called: 'Code' | 'Command', method: string, error: unknown): SandboxError {
    const why = errorText(error)
    if (!(error instanceof RpcFailure) || error.kind === 'failed')
      return executionFailed(called, why, { method })
    // The sandbox may be gone, so the next call starts another one.
    const end = { reason: 'died', message: `the microsandbox server: ${why}` } as const
    if (error.kind === 'unreachable') this.#stopping ??= this.#finish(end)
    return connectionFailed(end.message, { method })
  }
}

function configOf({ language, env, flavor, volumes }: MachineSpec): object {
  const readOnly = volumes.find(({ isReadOnly }) => isReadOnly)
  if (readOnly !== undefined)
    throw new MachineStartError(`a microsandbox server has no volumes to read only: ${readOnly.hostPath}`)
  return {
    image: `microsandbox/${language}`,
    memory: flavor.memoryMiB,
    cpus: flavor.cpus,
    volumes: volumes.map(({ hostPath, guestPath }) => `${hostPath}:${guestPath}`),
    envs: Object.entries(env).map(([name, value]) => `${name}=${value}`),
  }
}

function streamsOf(result: unknown): Pick<Evaluation, 'stdout' | 'stderr'> {
  const output: unknown[] =
    typeof result === 'object' && result !== null && 'output' in result && Array.isArray(result.output)
      ? result.output
      : []
  const lines = (stream: string): string =>
    output
      .flatMap((line) => (isLine(line) && line.stream === stream ? [line.text] : []))
      .map((text) => (text.endsWith('\n') ? text : `${text}\n`))
      .join('')
  return { stdout: lines('stdout'), stderr: lines('stderr') }
}

function isLine(line: unknown): line is { readonly stream: string; readonly text: string } {
  return (
    typeof line === 'object' &&
    line !== null &&
    'stream' in line &&
    'text' in line &&
    typeof line.text === 'string'
  )
}

/** A response above this limit does not come from such a server. */
const ANSWER_BYTES_MAX = 64 * 1024 * 1024

/** The most attempts of a repeatable request, and the wait before the second; the wait doubles. */
const ATTEMPTS_MAX = 3
const RETRY_MS = 250

/** The server has not done the request. */
class RpcFailure extends Error {
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
  /** Whether the request may be sent again when no response arrived. */
  readonly isRepeatable: boolean
}

interface Answer {
  readonly status: number
  readonly text: string
}

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

  /** Returns the result. @throws RpcFailure */
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

/** Some errors are objects of JSON-RPC, others are texts. */
function messageOf(error: unknown): string {
  if (typeof error === 'string') return error
  const message =
    typeof error === 'object' && error !== null && 'message' in error ? error.message : undefined
  return typeof message === 'string' ? message : 'no reason given'
}
