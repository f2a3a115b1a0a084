// A sandbox service: one runtime, its sessions, and the MCP server of its one client, which is the proxy.

import type { Buffer } from 'node:buffer'
import { StringDecoder } from 'node:string_decoder'
import PQueue from 'p-queue'
import type { Connection } from '../jsonrpc/connection.js'
import type { FrameError } from '../jsonrpc/jsonrpc-errors.js'
import type { NotificationFrame, RequestFrame } from '../jsonrpc/frame.js'
import { Peer, type PeerOwner } from '../jsonrpc/peer.js'
import type { RequestId } from '../jsonrpc/request-id.js'
import { parse, quote, rawAt, write } from '../jsonrpc/text.js'
import { malformed, methodNotFound, resourceNotFound, sandboxToolNotFound } from '../mcp/error-codes.js'
import { sessionRevision, latestSession } from '../mcp/revisions.js'
import { Deferred } from '../runtime/deferred.js'
import type { LogSink, Runtime, Timer } from '../runtime/runtime.js'
import { type SandboxSettings, aboutKey, principalKey } from '../upstream/contracts/sandbox-config.js'
import type { ServerAbout } from '../upstream/contracts/upstream.js'
import { version } from '../version.js'
import { Arguments } from './parameters.js'
import { SandboxError, sandboxError } from './errors.js'
import {
  type SandboxTool,
  type ToolCall,
  type ToolResult,
  readResource,
  resourceTemplate,
  toolNamed,
  toolsOf,
} from './tools.js'
import { errorText } from '../text/error-text.js'
import { isObject } from '../text/json-object.js'
import { abortReasons } from './runs.js'
import type { SandboxRuntime } from './runtime.js'
import { type ProbedRuntime, chooseRuntime } from './runtimes.js'
import { type SessionContext, Sessions } from './sessions.js'

/** The service sends no requests to its client. */
const INFLIGHT_MAX = 1

const INSTRUCTIONS = `Runs code and commands in sandboxes. Calls with the same session_id share variables, files and background programs; \
without one a new session begins. Files that code leaves in the folder artifacts of its working folder come back as resources.`

const templates = write({
  resourceTemplates: [
    {
      uriTemplate: resourceTemplate,
      name: 'session file',
      description: 'A file of a session, by its path from the working folder',
    },
  ],
})

const LARGE_READS_MAX = 4

export interface ServiceParts {
  readonly settings: SandboxSettings
  readonly runtime: Runtime
  readonly log: LogSink
  /** The folder for files of sessions. Undefined selects the folder of the runtime. */
  readonly stateFolder?: string
}

/** Chooses a usable runtime, and removes the remains of dead services. @throws NoRuntimeError */
export async function openService(
  parts: ServiceParts,
  choose: () => Promise<ProbedRuntime> = () =>
    chooseRuntime(parts.settings.runtime, { ...parts.settings, stateFolder: undefined, ...parts }),
): Promise<SandboxService> {
  const found = await choose()
  await found.runtime.sweep()
  return new SandboxService(parts, found.runtime, found.limits)
}

export class SandboxService implements PeerOwner<never> {
  readonly facts: ServerAbout
  readonly sessions: Sessions
  readonly #context: SessionContext
  readonly largeReads: PQueue = new PQueue({ concurrency: LARGE_READS_MAX })
  readonly #tools: readonly SandboxTool[]
  readonly #timers = new Set<Timer>()
  readonly #calls = new Map<RequestId, AbortController>()
  readonly #gone = new Deferred<void>()
  #drain = new Deferred<void>()
  #connection: Connection | undefined
  #peer: Peer<never> | undefined
  #closing: Promise<void> | undefined

  constructor({ settings, runtime, log }: ServiceParts, sandbox: SandboxRuntime, limits: string) {
    this.#tools = toolsOf(settings)
    const { id, isolation } = sandbox
    const network = sandbox.fixedNetwork ?? settings.network.kind
    this.facts = { runtime: id, isolation, network, tools: this.#tools.map((tool) => tool.name) }
    this.#context = { settings, sandbox, runtime, log }
    this.sessions = new Sessions(this.#context)
    this.#every(settings.cleanupIntervalMs, () => this.sessions.endExpired())
    this.#every(settings.orphanCleanupIntervalMs, () => void this.#sweep())
    log({
      level: 'info',
      message: `sandbox runtime ${id}: isolation ${isolation}, network ${network}, limits by ${limits}`,
    })
  }

  /** Serves the client. Resolves when the connection of the client has closed. */
  serve(connection: Connection): Promise<void> {
    this.#connection = connection
    this.#peer = new Peer<never>(connection, this, { inflightMax: INFLIGHT_MAX })
    this.#peer.start()
    return this.#gone.promise
  }

  /** Starts and ends a session of each template. Returns a line for each that cannot be started. */
  async trial(): Promise<readonly string[]> {
    const { sessions } = this
    const problems: string[] = []
    for (const { name } of this.#context.settings.templates) {
      const { session } = sessions.open({ id: undefined, owner: '', template: name, flavor: undefined })
      const started = session.useMachine(new AbortController(), async () => '')
      const problem = await started.catch((error: unknown) => errorText(error))
      if (problem) problems.push(`template ${name}: ${problem}`)
      await sessions.stop(session.facts.id, '')
    }
    return problems
  }

  close(): Promise<void> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  async #close(): Promise<void> {
    for (const timer of this.#timers) timer.cancel()
    await this.sessions.close()
    await this.#peer?.close()
    await this.#context.sandbox.close()
  }

  async #sweep(): Promise<void> {
    try {
      await this.#context.sandbox.sweep()
    } catch (error) {
      const message = 'what other services left behind could not be removed'
      this.#context.log({ level: 'warn', message, details: { error } })
    }
  }

  #every(delayMs: number, run: () => void): void {
    const timer = this.#context.runtime.setTimer(delayMs, () => {
      this.#timers.delete(timer)
      this.#every(delayMs, run)
      run()
    })
    this.#timers.add(timer)
  }

  // PeerOwner: messages of the client.

  request(frame: RequestFrame): void {
    const { id, method } = frame
    switch (method) {
      case 'initialize':
        return this.#peer?.reply(id, this.#initialized(frame))
      case 'ping':
        return this.#peer?.reply(id, '{}')
      case 'tools/list':
        return this.#peer?.reply(id, this.#listed())
      case 'tools/call':
        return void this.#running(id, (abort) => this.#callTool(frame, abort))
    }
    if (this.#context.settings.files)
      switch (method) {
        case 'resources/list':
          return this.#peer?.reply(id, '{"resources":[]}')
        case 'resources/templates/list':
          return this.#peer?.reply(id, templates)
        case 'resources/read':
          return void this.#running(id, (abort) => this.#read(frame, abort))
      }
    this.#peer?.refuse(id, methodNotFound(method))
  }

  notification(frame: NotificationFrame): void {
    if (frame.method !== 'notifications/cancelled') return
    const span = frame.params.members.span('requestId')
    if (span === undefined) return
    const raw = rawAt(frame.line, span)
    for (const [id, call] of this.#calls) if (id === raw) call.abort(abortReasons.cancelled)
  }

  batch(): void {
    this.#peer?.refuse(undefined, methodNotFound('batch'))
  }

  malformed(error: FrameError): void {
    this.#peer?.refuse(error.id, malformed(error))
  }

  closed(): void {
    for (const call of this.#calls.values()) call.abort(abortReasons.cancelled)
    this.#gone.resolve()
  }

  ended(): void {
    void this.#peer?.close()
  }

  drained(): void {
    this.#drain.resolve()
    this.#drain = new Deferred()
  }

  stray(): void {}
  failed(): void {}
  oversize(): void {}

  #initialized({ params }: RequestFrame): string {
    const { version: protocolVersion } =
      sessionRevision(params.members.string('protocolVersion')) ?? latestSession
    const { files } = this.#context.settings
    return write({
      protocolVersion,
      capabilities: { tools: {}, ...(files && { resources: {} }) },
      serverInfo: { name: 'mcps-proxy-sandbox', version },
      instructions: INSTRUCTIONS,
      _meta: { [aboutKey]: this.facts },
    })
  }

  #listed(): string {
    return write({ tools: this.#tools.map(({ run: _run, ...shown }) => shown) })
  }

  async #running(id: RequestId, run: (abort: AbortController) => Promise<string>): Promise<void> {
    const call = new AbortController()
    this.#calls.set(id, call)
    try {
      const result = await run(call)
      if (call.signal.reason !== abortReasons.cancelled) this.#peer?.reply(id, result)
    } catch (error) {
      if (call.signal.reason !== abortReasons.cancelled) this.#peer?.refuse(id, this.#failure(error).body)
    } finally {
      this.#calls.delete(id)
    }
  }

  /** Logs an internal fault and hides it from the client, because its message may name files of the host. */
  #failure(error: unknown): SandboxError {
    if (error instanceof SandboxError) return error
    this.#context.log({ level: 'error', message: 'a call failed by an internal fault', details: { error } })
    return sandboxError('WRAPPER_ERROR', 'internal fault', {})
  }

  async #callTool(frame: RequestFrame, abort: AbortController): Promise<string> {
    const name = frame.params.members.string('name') ?? ''
    const tool = toolNamed(name, this.#tools)
    if (tool === undefined) throw new SandboxError(sandboxToolNotFound(name))
    const progress = this.#progressOf(frame)
    try {
      const onOutput = progress && ((chunk: Buffer) => progress.push(chunk))
      const args = new Arguments(argumentsOf(frame))
      return writeResult(await tool.run({ ...this.#callOf(frame, abort), args, onOutput }))
    } finally {
      progress?.stop()
    }
  }

  async #read(frame: RequestFrame, abort: AbortController): Promise<string> {
    const uri = frame.params.members.string('uri') ?? ''
    const result = await readResource(uri, this.#callOf(frame, abort))
    if (result === undefined) throw new SandboxError(resourceNotFound(uri))
    return write(result)
  }

  /** A call may use the sessions of the principal that the proxy names, or the shared ones. */
  #callOf({ params }: RequestFrame, abort: AbortController): ToolCall {
    const { settings, runtime } = this.#context
    const owner = settings.sessions === 'client' ? (params.meta.string(principalKey) ?? '') : ''
    const own = { sessions: this.sessions, largeReads: this.largeReads, args: new Arguments({}) }
    const drained = (): Promise<void> => this.#drained(abort.signal)
    return { settings, runtime, ...own, owner, abort, drained, onOutput: undefined }
  }

  async #drained(signal: AbortSignal): Promise<void> {
    // The result of the previous turn is queued in this round of the event loop, and written in the next one.
    for (let rounds = 0; rounds < 2; rounds++) await new Promise((resolve) => setImmediate(resolve))
    const left = new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()))
    while (this.#connection?.congested === true && !signal.aborted)
      await Promise.race([this.#drain.promise, left])
  }

  #progressOf({ line, params }: RequestFrame): OutputProgress | undefined {
    const span = params.meta.span('progressToken')
    if (span === undefined) return undefined
    const token = rawAt(line, span)
    return new OutputProgress(this.#context.runtime, (bytes, text) => {
      const told = `{"progressToken":${token},"progress":${bytes},"message":${quote(text)}}`
      this.#peer?.notify('notifications/progress', told)
    })
  }
}

function writeResult({ content, isError, facts, shown }: ToolResult): string {
  return write({ content, isError, ...facts, structuredContent: { ...facts, ...shown } })
}

function argumentsOf({ line, params }: RequestFrame): Readonly<Record<string, unknown>> {
  const span = params.members.span('arguments')
  const value: unknown = span === undefined ? {} : parse(rawAt(line, span))
  return isObject(value) ? value : {}
}

/** A program may write faster than a client reads, so one notification carries all output of this time. */
const EVERY_MS = 100
/** The most characters of output in one notification. Earlier ones are dropped. */
const SHOWN_LENGTH_MAX = 8 * 1024

class OutputProgress {
  readonly #runtime: Pick<Runtime, 'setTimer'>
  readonly #notify: (bytes: number, text: string) => void
  readonly #decoder = new StringDecoder('utf8')
  #pending = ''
  #bytes = 0
  #timer: Timer | undefined

  /** `notify` gets the count of all bytes so far. */
  constructor(runtime: Pick<Runtime, 'setTimer'>, notify: (bytes: number, text: string) => void) {
    this.#runtime = runtime
    this.#notify = notify
  }

  push(chunk: Buffer): void {
    this.#bytes += chunk.length
    const text = `${this.#pending}${this.#decoder.write(chunk)}`.slice(-SHOWN_LENGTH_MAX)
    // The cut may have left the second half of a surrogate pair.
    this.#pending = text.replace(/^[\udc00-\udfff]/, '')
    if (this.#timer === undefined) this.#send()
  }

  stop(): void {
    this.#timer?.cancel()
    this.#pending = ''
  }

  #send(): void {
    this.#notify(this.#bytes, this.#pending)
    this.#pending = ''
    this.#timer = this.#runtime.setTimer(EVERY_MS, () => {
      this.#timer = undefined
      if (this.#pending !== '') this.#send()
    })
  }
}
