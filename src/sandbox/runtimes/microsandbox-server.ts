// Sessions on a microsandbox server of the versions 0.2: small virtual machines, controlled by JSON-RPC over HTTP.
//
// The server runs code and commands and responds after they have ended. It reports no output before that and
// cannot interrupt a run, so a run that takes too long ends with its session.

import { Buffer } from 'node:buffer'
import { randomUUID } from 'node:crypto'
import { PassThrough } from 'node:stream'
import { write } from '../../jsonrpc/text.js'
import { Deferred } from '../../runtime/deferred.js'
import type { LogSink } from '../../runtime/runtime.js'
import { errorText } from '../../text/error-text.js'
import { type JsonObject, isObject, objectIn } from '../../text/json-object.js'
import { SandboxError, executionFailed, sandboxError } from '../errors.js'
import {
  type GuestExit,
  type GuestProcess,
  type Machine,
  type MachineEnd,
  type MachineSpec,
  MachineStartError,
  RuntimeUnusable,
  type SandboxRuntime,
  stoppedEnd,
} from '../runtime.js'

const PROBE_MS = 5000
const STOP_MS = 30_000
/** The extra time for a response, in addition to the timeout that the server got. */
const MARGIN_MS = 5000
/** A longer response does not come from such a server. */
const ANSWER_BYTES_MAX = 64 * 1024 * 1024

const methods = { Code: 'sandbox.repl.run', Command: 'sandbox.command.run' } as const

type End = (reason: MachineEnd) => Promise<void>

export class MicrosandboxServerRuntime implements SandboxRuntime {
  readonly id = 'microsandbox-server'
  readonly isolation = 'vm'
  readonly canLimitHosts = false
  readonly fixedNetwork = 'as its server has it'
  readonly #serverUrl: string | undefined
  readonly #headers: Readonly<Record<string, string>>
  readonly #log: LogSink

  constructor(serverUrl: string | undefined, apiKey: string | undefined, log: LogSink) {
    this.#serverUrl = serverUrl?.replace(/\/+$/, '')
    const authorization = apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` }
    this.#headers = { 'content-type': 'application/json', ...authorization }
    this.#log = log
  }

  async probe(): Promise<string> {
    const remedy = 'start one with: msb server start, and set MSB_SERVER_URL to its address'
    try {
      const { status } = await this.#send('/api/v1/health', {}, PROBE_MS)
      if (status !== 200) throw new Error(`its health is HTTP ${status}`)
      return 'the server'
    } catch (error) {
      throw new RuntimeUnusable(`the server cannot be reached: ${errorText(error)}`, remedy)
    }
  }

  async start({ language, env, flavor, volumes, startTimeoutMs }: MachineSpec): Promise<Machine> {
    const readOnly = volumes.find(({ isReadOnly }) => isReadOnly)
    if (readOnly !== undefined)
      throw new MachineStartError(`a microsandbox server has no volumes to read only: ${readOnly.hostPath}`)
    const sandbox = `session-${randomUUID()}`
    const config = {
      image: `microsandbox/${language}`,
      memory: flavor.memoryMiB,
      cpus: flavor.cpus,
      volumes: volumes.map(({ hostPath, guestPath }) => `${hostPath}:${guestPath}`),
      envs: Object.entries(env).map(([name, value]) => `${name}=${value}`),
    }
    try {
      const params = { sandbox, namespace: 'default', config }
      const result = await this.#call('sandbox.start', params, startTimeoutMs)
      if (typeof result === 'string' && /timed out/i.test(result)) throw new Error(result)
    } catch (error) {
      await this.#stop(sandbox)
      throw error instanceof SandboxError ? error : new MachineStartError(errorText(error))
    }
    return this.#machine(sandbox, language)
  }

  async discard(): Promise<void> {}

  async sweep(): Promise<void> {}

  /** Each session stops its machine itself. */
  async close(): Promise<void> {}

  #machine(sandbox: string, language: string): Machine {
    const ended = new Deferred<MachineEnd>()
    let stopping: Promise<void> | undefined
    const end: End = (reason) => {
      ended.resolve(reason)
      stopping ??= this.#stop(sandbox)
      return stopping
    }
    const run = (called: keyof typeof methods, own: object, timeoutMs = STOP_MS): GuestProcess => {
      const params = { sandbox, namespace: 'default', timeout: Math.ceil(timeoutMs / 1000), ...own }
      return this.#process(called, params, timeoutMs, end)
    }
    return {
      interpreter: [language],
      ended: ended.promise,
      stop: () => end(stoppedEnd),
      evaluate: (code, timeoutMs) => run('Code', { code, language }, timeoutMs),
      run: ({ program, args, timeoutMs }) => run('Command', { command: program, args }, timeoutMs),
    }
  }

  /** The program of one request. The request is sent only once, because after a failure it may have run in part. */
  #process(called: keyof typeof methods, params: object, timeoutMs: number, end: End): GuestProcess {
    const method = methods[called]
    const [stdin, stdout, stderr] = [new PassThrough(), new PassThrough(), new PassThrough()]
    const giveUp = new AbortController()
    const failed = async (error: unknown): Promise<GuestExit> => {
      if (giveUp.signal.aborted) {
        await end(stoppedEnd)
        return { code: undefined, signal: 'SIGKILL' }
      }
      if (!(error instanceof SandboxError)) throw executionFailed(called, errorText(error), { method })
      // The sandbox may be gone, so the next call starts another one.
      void end({ reason: 'died', message: error.message })
      throw error
    }
    const exited = this.#call(method, params, timeoutMs + MARGIN_MS, giveUp.signal).then((result) => {
      stdout.end(outputIn(result, 'stdout'))
      stderr.end(outputIn(result, 'stderr'))
      return { code: exitCodeIn(result), signal: undefined }
    }, failed)
    const interrupt = (): void => giveUp.abort()
    return { stdin, stdout, stderr, exited, interrupt, kill: interrupt }
  }

  async #stop(sandbox: string): Promise<void> {
    try {
      await this.#call('sandbox.stop', { sandbox, namespace: 'default' }, STOP_MS)
    } catch (error) {
      this.#log({ level: 'warn', message: `sandbox ${sandbox} could not be stopped: ${errorText(error)}` })
    }
  }

  /** Returns the result. @throws SandboxError if the server cannot be used, another error if the request fails */
  async #call(method: string, params: object, timeoutMs: number, signal?: AbortSignal): Promise<unknown> {
    const unusable = (why: string): SandboxError =>
      sandboxError('CONNECTION_ERROR', `the microsandbox server: ${why}`, { method })
    const body = write({ jsonrpc: '2.0', method, params, id: 1 })
    const sent = this.#send('/api/v1/rpc', { method: 'POST', body }, timeoutMs, signal)
    const { status, text } = await sent.catch((error: unknown) => {
      throw unusable(errorText(error))
    })
    const { result, error } = objectIn(text) ?? {}
    if (status === 401) throw unusable(`it refuses the key: ${messageOf(error)}; check MSB_API_KEY`)
    if (status === 404) throw unusable(`it does not know ${method}; it must be microsandbox 0.2`)
    if (error !== undefined) throw new Error(messageOf(error))
    if (status !== 200) throw new Error(`HTTP ${status}`)
    return result
  }

  async #send(
    path: string,
    init: RequestInit,
    timeoutMs: number,
    given?: AbortSignal,
  ): Promise<{ readonly status: number; readonly text: string }> {
    if (this.#serverUrl === undefined) throw new Error('no address of a server is set')
    const late = AbortSignal.timeout(timeoutMs)
    const signal = given === undefined ? late : AbortSignal.any([late, given])
    try {
      const headers = this.#headers
      const response = await fetch(this.#serverUrl + path, { ...init, headers, signal, redirect: 'error' })
      return { status: response.status, text: await textOf(response) }
    } catch (error) {
      if (late.aborted) throw new Error('no answer in time', { cause: error })
      throw error instanceof TypeError ? error.cause : error
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

/** Some errors are objects of JSON-RPC, others are texts. */
function messageOf(error: unknown): string {
  const message = isObject(error) ? error['message'] : error
  return typeof message === 'string' ? message : 'no reason given'
}

/** The server reports success for all code. The line of an uncaught error begins like this; a warning begins with a file. */
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
