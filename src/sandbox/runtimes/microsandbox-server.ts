// Sessions on a microsandbox server of the versions 0.2: small virtual machines, controlled by JSON-RPC over HTTP.
//
// The server runs code and commands and responds when they have ended. It reports no output meanwhile and interrupts nothing, so
// a run that takes too long ends with its session.

import { Buffer } from 'node:buffer'
import { randomBytes } from 'node:crypto'
import { PassThrough } from 'node:stream'
import { parse, write } from '../../jsonrpc/text.js'
import { Deferred } from '../../runtime/deferred.js'
import type { LogSink } from '../../runtime/runtime.js'
import { errorText } from '../../text/error-text.js'
import { type JsonObject, isObject } from '../../text/json-object.js'
import { type SandboxError, executionFailed, sandboxError } from '../errors.js'
import {
  type GuestExit,
  type GuestProcess,
  type Machine,
  type MachineEnd,
  type MachineSpec,
  MachineStartError,
  type RuntimeProbe,
  type SandboxRuntime,
} from '../runtime.js'

const PROBE_MS = 5000
const STOP_MS = 30_000
/** The extra time of a response, after the timeout that the server got. */
const MARGIN_MS = 5000
/** A response above this limit does not come from such a server. */
const ANSWER_BYTES_MAX = 64 * 1024 * 1024

const methods = { Code: 'sandbox.repl.run', Command: 'sandbox.command.run' } as const

type Called = keyof typeof methods

const stopped: MachineEnd = { reason: 'stopped', message: 'the session was stopped' }

const randomName = (): string => randomBytes(4).toString('hex')

export class MicrosandboxServerRuntime implements SandboxRuntime {
  readonly id = 'microsandbox-server'
  readonly isolation = 'vm'
  readonly networks = ['none', 'host'] as const
  readonly fixedNetwork = 'as its server has it'
  readonly #log: LogSink
  readonly #rpc: MicrosandboxRpc
  /** Part of the names of this service's sandboxes, which keeps it from stopping those of other services. */
  readonly #instance = randomName()
  readonly #running = new Set<Machine>()
  /** Sandboxes that the service could not stop; the next sweep tries again. */
  readonly #left = new Set<string>()

  constructor(serverUrl: string | undefined, apiKey: string | undefined, log: LogSink) {
    this.#log = log
    this.#rpc = new MicrosandboxRpc(serverUrl, apiKey)
  }

  async probe(): Promise<RuntimeProbe> {
    const remedy = 'start one with: msb server start, and set MSB_SERVER_URL to its address'
    try {
      await this.#rpc.health()
      return { kind: 'usable', limits: 'the server' }
    } catch (error) {
      return { kind: 'unusable', why: `the server cannot be reached: ${errorText(error)}`, remedy }
    }
  }

  async start(spec: MachineSpec): Promise<Machine> {
    const sandbox = `session-${randomName()}-${this.#instance}`
    const params = { sandbox, namespace: 'default', config: configOf(spec) }
    try {
      const result = await this.#rpc.call('sandbox.start', params, spec.startTimeoutMs)
      if (typeof result === 'string' && /timed out/i.test(result)) throw new MachineStartError(result)
    } catch (error) {
      await this.#stop(sandbox)
      if (error instanceof RpcFailure && error.kind !== 'failed')
        throw unreachable(error.message, 'sandbox.start')
      throw new MachineStartError(errorText(error))
    }
    const machine = this.#machine(sandbox, spec.language)
    this.#running.add(machine)
    void machine.ended.then(() => this.#running.delete(machine))
    return machine
  }

  async discard(): Promise<void> {}

  async sweep(): Promise<void> {
    await Promise.all([...this.#left].map((sandbox) => this.#stop(sandbox)))
  }

  async close(): Promise<void> {
    await Promise.all([...this.#running].map((machine) => machine.stop()))
    await this.sweep()
  }

  #machine(sandbox: string, language: string): Machine {
    const ended = new Deferred<MachineEnd>()
    let stopping: Promise<void> | undefined
    const end = (reason: MachineEnd): Promise<void> => {
      ended.resolve(reason)
      stopping ??= this.#stop(sandbox)
      return stopping
    }
    const run = (called: Called, params: object, timeoutMs = STOP_MS): GuestProcess => {
      const place = { sandbox, namespace: 'default', timeout: Math.ceil(timeoutMs / 1000) }
      return this.#process(called, { ...place, ...params }, timeoutMs, end)
    }
    return {
      workspace: '/',
      interpreter: [language],
      ended: ended.promise,
      stop: () => end(stopped),
      evaluate: (code, timeoutMs) => run('Code', { code, language }, timeoutMs),
      run: ({ program, args, timeoutMs }) => run('Command', { command: program, args }, timeoutMs),
    }
  }

  /** The program of one request, which is sent only once: after a failure, the part that has run is unknown. */
  #process(
    called: Called,
    params: object,
    timeoutMs: number,
    end: (reason: MachineEnd) => Promise<void>,
  ): GuestProcess {
    const method = methods[called]
    const [stdin, stdout, stderr] = [new PassThrough(), new PassThrough(), new PassThrough()]
    const giveUp = new AbortController()
    const failed = async (error: unknown): Promise<GuestExit> => {
      if (giveUp.signal.aborted) {
        await end(stopped)
        return { code: undefined, signal: 'SIGKILL' }
      }
      const why = errorText(error)
      if (!(error instanceof RpcFailure) || error.kind === 'failed')
        throw executionFailed(called, why, { method })
      // The sandbox may be gone, so the next call starts another one.
      if (error.kind === 'unreachable') void end({ reason: 'died', message: why })
      throw unreachable(why, method)
    }
    const exited = this.#rpc.call(method, params, timeoutMs + MARGIN_MS, giveUp.signal).then((result) => {
      stdout.end(outputIn(result, 'stdout'))
      stderr.end(outputIn(result, 'stderr'))
      return { code: exitCodeIn(result), signal: undefined }
    }, failed)
    const interrupt = (): void => giveUp.abort()
    return { stdin, stdout, stderr, exited, interrupt, kill: interrupt }
  }

  async #stop(sandbox: string): Promise<void> {
    this.#left.add(sandbox)
    try {
      await this.#rpc.call('sandbox.stop', { sandbox, namespace: 'default' }, STOP_MS)
      this.#left.delete(sandbox)
    } catch (error) {
      // The error of the server means that the sandbox is already gone.
      if (error instanceof RpcFailure && error.kind === 'failed') this.#left.delete(sandbox)
      this.#log({ level: 'warn', message: `sandbox ${sandbox} could not be stopped: ${errorText(error)}` })
    }
  }
}

function unreachable(why: string, method: string): SandboxError {
  return sandboxError('CONNECTION_ERROR', `the microsandbox server: ${why}`, { method })
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

/** The server calls all code a success. An uncaught error is known by the beginning of its line; a warning begins with a file. */
const UNCAUGHT =
  /^(?:Traceback \(most recent call last\):|Uncaught |[A-Za-z_][\w.]*(?:Error|Exception|Interrupt|Exit)(?::|$))/m

function exitCodeIn(result: unknown): number {
  const { exit_code: exitCode } = objectOf(result)
  if (typeof exitCode === 'number') return exitCode
  return UNCAUGHT.test(outputIn(result, 'stderr')) ? 1 : 0
}

function outputIn(result: unknown, stream: 'stdout' | 'stderr'): string {
  const { output } = objectOf(result)
  return (Array.isArray(output) ? output.map(objectOf) : [])
    .flatMap(({ stream: from, text }) => (from === stream && typeof text === 'string' ? [text] : []))
    .map((text) => (text.endsWith('\n') ? text : `${text}\n`))
    .join('')
}

function objectOf(value: unknown): JsonObject {
  return isObject(value) ? value : {}
}

/** The server has not done the request. */
class RpcFailure extends Error {
  override readonly name = 'RpcFailure'
  readonly kind: 'unreachable' | 'refused' | 'failed'

  constructor(kind: RpcFailure['kind'], message: string) {
    super(message)
    this.kind = kind
  }
}

class MicrosandboxRpc {
  readonly #base: string | undefined
  readonly #apiKey: string | undefined
  #last = 0

  constructor(serverUrl: string | undefined, apiKey: string | undefined) {
    this.#base = serverUrl?.replace(/\/+$/, '')
    this.#apiKey = apiKey
  }

  /** @throws RpcFailure */
  async health(): Promise<void> {
    const { status } = await this.#send('/api/v1/health', {}, PROBE_MS)
    if (status !== 200) throw new RpcFailure('failed', `its health is HTTP ${status}`)
  }

  /** Returns the result. @throws RpcFailure */
  async call(method: string, params: object, timeoutMs: number, signal?: AbortSignal): Promise<unknown> {
    const body = write({ jsonrpc: '2.0', method, params, id: ++this.#last })
    const { status, text } = await this.#send('/api/v1/rpc', { method: 'POST', body }, timeoutMs, signal)
    const { result, error } = membersOf(text)
    if (status === 401)
      throw new RpcFailure('refused', `it refuses the key: ${messageOf(error)}; check MSB_API_KEY`)
    if (status === 404)
      throw new RpcFailure('refused', `it does not know ${method}; it must be microsandbox 0.2`)
    if (error !== undefined) throw new RpcFailure('failed', messageOf(error))
    if (status !== 200) throw new RpcFailure('failed', `HTTP ${status}`)
    return result
  }

  async #send(
    path: string,
    init: RequestInit,
    timeoutMs: number,
    signal?: AbortSignal,
  ): Promise<{ readonly status: number; readonly text: string }> {
    if (this.#base === undefined) throw new RpcFailure('failed', 'no address of a server is set')
    const late = AbortSignal.timeout(timeoutMs)
    const authorization = this.#apiKey === undefined ? {} : { authorization: `Bearer ${this.#apiKey}` }
    try {
      const response = await fetch(this.#base + path, {
        ...init,
        headers: { 'content-type': 'application/json', ...authorization },
        signal: signal === undefined ? late : AbortSignal.any([late, signal]),
        redirect: 'error',
      })
      return { status: response.status, text: await textOf(response) }
    } catch (error) {
      const why = late.aborted
        ? 'no answer in time'
        : errorText(error instanceof TypeError ? error.cause : error)
      throw new RpcFailure('unreachable', why)
    }
  }
}

async function textOf({ body }: Response): Promise<string> {
  const chunks: Uint8Array[] = []
  let bytes = 0
  for await (const chunk of body ?? []) {
    bytes += chunk.length
    if (bytes > ANSWER_BYTES_MAX) throw new Error('its answer is too long')
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}

function membersOf(text: string): JsonObject {
  try {
    return objectOf(parse(text))
  } catch {
    return {}
  }
}

/** Some errors are objects of JSON-RPC, others are texts. */
function messageOf(error: unknown): string {
  const message = isObject(error) ? error['message'] : error
  return typeof message === 'string' ? message : 'no reason given'
}
