// Replays each transcript against its server. The replayer starts and ends the server.

import { dialFor } from '../transports/http1/client.js'
import { proxyFor } from '../transports/http-client/proxy-choice.js'
import type { Runtime } from '../runtime/runtime.js'
import type { ReplayRequest } from './command.js'
import { Expectations } from './expectations.js'
import { type Launch, Launcher, type OwnProgram } from './launch.js'
import { filled } from './pattern.js'
import { openRemote } from './replay-remote.js'
import type { Event, ReplayOutcome, Result } from './report.js'
import { HostError, type HttpHost, ReplayProcess, type ReplayedServer, startHost } from './server.js'
import type { Carrier, Exit, Expected, Header, Sent, Transcript } from './transcript.js'

const timeoutMsDefault = 30_000

export class Replayer {
  readonly #request: ReplayRequest
  readonly #timeoutMs: number
  readonly #launcher: Launcher
  readonly #runtime: Runtime
  /** The server for all clients of one recording. */
  #shared: { readonly of: Header; readonly host: HttpHost } | undefined

  constructor(request: ReplayRequest, program: OwnProgram, runtime: Runtime) {
    this.#request = request
    this.#timeoutMs = request.timeout ?? timeoutMsDefault
    this.#launcher = new Launcher({ ...program, env: runtime.env, command: request.rest ?? [] })
    this.#runtime = runtime
  }

  async replay(transcript: Transcript): Promise<Result> {
    const carrier = carrierOf(transcript, this.#request)
    const { need } = transcript
    if (need !== undefined && need.carrier !== carrier)
      return {
        kind: 'skipped',
        why: `it needs ${names[need.carrier]} (${need.why}), and this is ${names[carrier]}`,
      }
    let service: HttpHost | undefined
    try {
      service = await this.#service(transcript)
      const port = service?.url.port
      return await (carrier === 'stdio'
        ? this.#overStdio(transcript, port)
        : this.#overHttp(transcript, port))
    } catch (error) {
      if (!(error instanceof HostError)) throw error
      return { kind: 'replayed', events: [{ kind: 'failed', why: error.message }], stderr: error.stderr }
    } finally {
      await service?.process.terminate()
    }
  }

  async close(): Promise<void> {
    await this.#stopShared()
    this.#launcher.close()
  }

  async #service(transcript: Transcript): Promise<HttpHost | undefined> {
    const { rest: command = [], url } = this.#request
    const { service } = transcript.header
    if (service === undefined || command.length > 0 || url !== undefined) return undefined
    return this.#start(await this.#launcher.service(transcript, service))
  }

  async #overStdio(transcript: Transcript, servicePort: string | undefined): Promise<ReplayOutcome> {
    const { spec } = await this.#launcher.server(transcript, 'stdio', servicePort)
    const server = new ReplayProcess(spec, this.#runtime)
    const events = await this.#talk(transcript, server)
    return { kind: 'replayed', events, stderr: server.stderr }
  }

  async #overHttp(transcript: Transcript, servicePort: string | undefined): Promise<ReplayOutcome> {
    const { header: headers, url: given } = this.#request
    const timeoutMs = this.#timeoutMs
    const runtime = this.#runtime
    const host = given === undefined ? await this.#hostFor(transcript, servicePort) : undefined
    const url = host === undefined ? new URL(given ?? '') : urlFor(transcript, host.url)
    const proxy = proxyFor(url, { own: undefined, env: runtime.env })
    const server = openRemote({ url, headers, runtime, timeoutMs }, await dialFor(url, { proxy }))
    const events = await this.#talk(transcript, server)
    return { kind: 'replayed', events, stderr: host?.process.stderr ?? '' }
  }

  async #talk(transcript: Transcript, server: ReplayedServer): Promise<readonly Event[]> {
    try {
      return await new Replay(transcript, server, this.#runtime, this.#timeoutMs).run()
    } finally {
      await server.stop()
    }
  }

  /** Each fixture gets a new server. The clients of one recording share a server, as they did originally. */
  async #hostFor(transcript: Transcript, servicePort: string | undefined): Promise<HttpHost> {
    const { header } = transcript
    if (this.#shared?.of === header && header.recorded) return this.#shared.host
    await this.#stopShared()
    const host = await this.#start(await this.#launcher.server(transcript, 'http', servicePort))
    this.#shared = { of: header, host }
    return host
  }

  async #stopShared(): Promise<void> {
    const shared = this.#shared
    this.#shared = undefined
    await shared?.host.process.terminate()
  }

  #start(launch: Launch): Promise<HttpHost> {
    return startHost(launch, this.#runtime, this.#timeoutMs)
  }
}

function urlFor({ schema }: Transcript, url: URL): URL {
  return schema === undefined ? url : new URL(`/api/${encodeURIComponent(schema)}/mcp`, url)
}

const names: Readonly<Record<Carrier, string>> = { stdio: 'stdio', http: 'HTTP' }

function carrierOf({ header, need }: Transcript, { rest: command = [], url, http }: ReplayRequest): Carrier {
  if (url !== undefined || http) return 'http'
  if (command.length > 0) return 'stdio'
  return header.transport ?? (servesHttp(header) ? 'http' : (need?.carrier ?? 'stdio'))
}

/** Whether the proxy would listen for HTTP with these arguments. */
function servesHttp({ command, args }: Header): boolean {
  if (command !== undefined || args === undefined) return false
  return args[0] !== 'stdio' && !args.some((arg) => /^--(?:stdio$|url(?:=|$))/.test(arg))
}

/** How long a process may take to exit after the end of its output. */
const EXIT_WAIT_MS = 2000

/** How long a server may still write after the end of its input. */
const END_WAIT_MS = 5000

interface End {
  readonly why: string
  readonly step?: Expected
}

/**
 * Sends each frame of the transcript after all frames that the transcript expects before it. A difference does not
 * stop the replay. A missing frame does, because later steps would fail for the same reason.
 */
class Replay {
  readonly #transcript: Transcript
  readonly #server: ReplayedServer
  readonly #runtime: Runtime
  readonly #timeoutMs: number
  readonly #expectations: Expectations
  readonly #values = new Map<string, string>()
  readonly #events: Event[] = []

  constructor(transcript: Transcript, server: ReplayedServer, runtime: Runtime, timeoutMs: number) {
    this.#transcript = transcript
    this.#server = server
    this.#runtime = runtime
    this.#timeoutMs = timeoutMs
    const steps = transcript.steps.flatMap((step, at) => (step.kind === 'expect' ? [{ at, step }] : []))
    this.#expectations = new Expectations(steps, transcript.header.recorded)
  }

  async run(): Promise<readonly Event[]> {
    if (await this.#talk()) {
      this.#server.closeInput()
      await this.#listen(Math.min(this.#timeoutMs, END_WAIT_MS))
    }
    return this.#events
  }

  /** Sends and awaits all frames; false if an expected frame is missing. */
  async #talk(): Promise<boolean> {
    for (const [at, step] of this.#transcript.steps.entries()) {
      if (step.kind === 'expect') continue
      if (!(await this.#comeBefore(at))) return false
      if (step.kind === 'send') this.#send(step)
      else await this.#exit(step)
    }
    return this.#comeBefore(this.#transcript.steps.length)
  }

  async #comeBefore(at: number): Promise<boolean> {
    for (;;) {
      const step = this.#expectations.awaited(at)
      if (step === undefined) return true
      const end = await this.#receive(this.#timeoutMs)
      if (end === undefined) continue
      this.#events.push({ kind: 'missing', step, ...end })
      return false
    }
  }

  /** Handles the next frame. If the server sends none, returns the reason. */
  async #receive(timeoutMs: number): Promise<End | undefined> {
    const next = await this.#server.output.next(this.#runtime.now() + timeoutMs)
    if (next.kind === 'ended') return { why: await this.#server.endedWhy() }
    if (next.kind === 'too-late') return { why: `nothing came within ${timeoutMs} ms` }
    if (next.kind === 'failed') {
      const step = next.id === undefined ? undefined : this.#expectations.drop(next.id)
      if (step !== undefined) return { why: next.why, step }
      this.#events.push({ kind: 'failed', why: next.why })
      return undefined
    }
    const event = this.#expectations.take(next.bytes, this.#values)
    if (event.kind === 'equal') for (const [name, value] of event.bound) this.#values.set(name, value)
    this.#events.push(event)
    return undefined
  }

  /** Handles frames until the server sends no more. */
  async #listen(timeoutMs: number): Promise<void> {
    while ((await this.#receive(timeoutMs)) === undefined) continue
  }

  #send(step: Sent): void {
    const bytes = filled(step, this.#values)
    this.#server.send({ ...step, bytes })
    this.#events.push({ kind: 'sent', step, bytes })
  }

  /** Waits for the server to exit while its input is open. */
  async #exit(step: Exit): Promise<void> {
    await this.#listen(this.#timeoutMs)
    const { code } = (await this.#server.exit(EXIT_WAIT_MS)) ?? {}
    const came = code === undefined ? 'the server did not exit' : `the server exited with ${code}`
    this.#events.push({ kind: 'exit', step, problem: code === step.code ? undefined : came })
  }
}
