// Each transcript against its server: what is started for it, reached for it, and ended after it.

import { connectorFor } from '../transports/http-client/connect.js'
import { proxyFor } from '../transports/http-client/proxy-choice.js'
import type { Runtime } from '../runtime/runtime.js'
import { HostError, HttpHost } from './http-host.js'
import {
  type LaunchOptions,
  type OwnProgram,
  type PreparedLaunch,
  prepareBeside,
  prepareLaunch,
} from './launch.js'
import type { Event, ReplayOutcome, Result } from './report.js'
import { ReplayProcess } from './replay-process.js'
import { ReplayRemote } from './replay-remote.js'
import { Replay } from './run.js'
import type { Transcript, Carrier, Header } from './transcript.js'

/** The choices of the command line. */
export interface ReplayRequest {
  /** Empty leaves the choice to the transcript. */
  readonly command: readonly string[]
  readonly url: string | undefined
  /** Whether the started server speaks HTTP. */
  readonly http: boolean
  readonly files: readonly string[]
  /** Whether the transcripts of the package, which every correct server passes, are replayed too. */
  readonly portable: boolean
  /** Whether what the transcripts name may be started without a question. */
  readonly trust: boolean
  /** Of every request over HTTP. */
  readonly headers: Readonly<Record<string, string>>
  /** Show every frame. */
  readonly verbose: boolean
  /** Whether the messages that came are written into the transcripts, in place of those that differ. */
  readonly updates: boolean
  /** How long one frame may take to come. */
  readonly timeoutMs: number
}

/** Replays transcripts, one after the other. */
export class Replayer {
  readonly #request: ReplayRequest
  readonly #program: OwnProgram
  readonly #runtime: Runtime
  /** Serves every client of one recording. */
  #host: { readonly of: Transcript['header']; readonly host: HttpHost } | undefined

  constructor(request: ReplayRequest, program: OwnProgram, runtime: Runtime) {
    this.#request = request
    this.#program = program
    this.#runtime = runtime
  }

  async replay(transcript: Transcript): Promise<Result> {
    const carrier = carrierOf(transcript, this.#request)
    const why = unfit(transcript, carrier)
    if (why !== undefined) return { kind: 'skipped', why }
    let beside: HttpHost | undefined
    try {
      beside = await this.#beside(transcript)
      const options = this.#launchOptions(beside && Number(beside.url.port))
      if (carrier === 'stdio') return await this.#overStdio(transcript, options)
      return await this.#overHttp(transcript, options)
    } catch (error) {
      if (!(error instanceof HostError)) throw error
      return outcome([{ kind: 'failed', why: error.message }], error.stderr)
    } finally {
      await beside?.stop()
    }
  }

  /** The service that the configuration of the transcript needs, when the proxy is started with it. */
  async #beside(transcript: Transcript): Promise<HttpHost | undefined> {
    const { command, url } = this.#request
    const { beside } = transcript.header
    if (beside === undefined || command.length > 0 || url !== undefined) return undefined
    return this.#start(() => prepareBeside(transcript, beside, this.#launchOptions(undefined)))
  }

  /** Ends what is still running. */
  async close(): Promise<void> {
    const held = this.#host
    this.#host = undefined
    await held?.host.stop()
  }

  async #overStdio(transcript: Transcript, options: LaunchOptions): Promise<ReplayOutcome> {
    const launch = await prepareLaunch(transcript, 'stdio', options)
    const server = new ReplayProcess(launch.spec, this.#runtime)
    try {
      const events = await new Replay(transcript, server, this.#runtime, this.#request.timeoutMs).run()
      return outcome(events, server.stderr)
    } finally {
      await server.stop()
      await launch.dispose()
    }
  }

  async #overHttp(transcript: Transcript, options: LaunchOptions): Promise<ReplayOutcome> {
    const { url } = this.#request
    if (url !== undefined) return outcome(await this.#at(new URL(url), transcript), '')
    const host = await this.#hostFor(transcript, options)
    return outcome(await this.#at(urlFor(transcript, host.url), transcript), host.stderr)
  }

  async #at(url: URL, transcript: Transcript): Promise<readonly Event[]> {
    const { headers, timeoutMs } = this.#request
    const runtime = this.#runtime
    const options = { url, headers, runtime, timeoutMs }
    const proxy = proxyFor(url, { own: undefined, env: runtime.env })
    const server = new ReplayRemote(options, await connectorFor(url, { proxy }))
    try {
      return await new Replay(transcript, server, runtime, timeoutMs).run()
    } finally {
      await server.stop()
    }
  }

  /** Each fixture has its own server; the clients of a recording shared one. */
  async #hostFor(transcript: Transcript, options: LaunchOptions): Promise<HttpHost> {
    const { header } = transcript
    if (this.#host?.of === header && header.recorded) return this.#host.host
    await this.close()
    const host = await this.#start(() => prepareLaunch(transcript, 'http', options))
    this.#host = { of: header, host }
    return host
  }

  #start(prepare: () => Promise<PreparedLaunch>): Promise<HttpHost> {
    return HttpHost.start(prepare, this.#runtime, this.#request.timeoutMs)
  }

  #launchOptions(beside: number | undefined): LaunchOptions {
    return { ...this.#program, env: this.#runtime.env, command: this.#request.command, beside }
  }
}

function outcome(events: readonly Event[], stderr: string): ReplayOutcome {
  return { kind: 'replayed', events, stderr }
}

/** Each schema of a recording has its own path. */
function urlFor({ schema }: Transcript, url: URL): URL {
  return schema === undefined ? url : new URL(`/api/${encodeURIComponent(schema)}/mcp`, url)
}

const names: Readonly<Record<Carrier, string>> = { stdio: 'stdio', http: 'HTTP' }

function carrierOf(transcript: Transcript, { command, url, http }: ReplayRequest): Carrier {
  if (url !== undefined || http) return 'http'
  if (command.length > 0) return 'stdio'
  const { header, needs } = transcript
  return needs ?? (header.url !== undefined || servesHttp(header) ? 'http' : 'stdio')
}

/** Why a transcript cannot be replayed that way; undefined when it can. */
function unfit({ needs, why }: Transcript, carrier: Carrier): string | undefined {
  if (needs === undefined || needs === carrier) return undefined
  return `it needs ${names[needs]} (${why}), and this is ${names[carrier]}`
}

/** Whether the proxy that is started with these arguments would listen for HTTP. */
function servesHttp({ command, args }: Header): boolean {
  if (command !== undefined || args === undefined) return false
  return args[0] !== 'stdio' && !args.some((arg) => /^--(?:stdio$|url(?:=|$))/.test(arg))
}
