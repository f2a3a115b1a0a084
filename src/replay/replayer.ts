// Each transcript against its server: what is started for it, reached for it, and ended after it.

import { connectorFor } from '../transports/http-client/connect.js'
import { proxyFor } from '../transports/http-client/proxy-choice.js'
import type { Runtime } from '../runtime/runtime.js'
import { type CarrierChoice, carrierOf, unfit } from './carrier.js'
import { HostError, HttpHost } from './http-host.js'
import { type LaunchOptions, prepareBeside, prepareHttpLaunch, prepareLaunch } from './launch.js'
import { Processes } from './processes.js'
import { ReplayRemote } from './replay-remote.js'
import { replayExchanges } from './http-replay.js'
import type { ReplayOutcome } from './outcome.js'
import { replayTranscript } from './run.js'
import type { Server } from './server.js'
import type { Transcript } from './transcript.js'

export interface ReplayerOptions extends CarrierChoice {
  readonly launch: Omit<LaunchOptions, 'command'>
  /** Of every request over HTTP. */
  readonly headers: Readonly<Record<string, string>>
  readonly runtime: Runtime
  /** How long one frame may take to come. */
  readonly timeoutMs: number
}

/** How a replay went, or why there was none. */
export type Result = ReplayOutcome | { readonly kind: 'skipped'; readonly why: string }

/** Replays transcripts, one after the other. */
export class Replayer {
  readonly #options: ReplayerOptions
  readonly #processes: Processes
  #besidePort: number | undefined
  /** Serves every client of one recording. */
  #host: { readonly of: Transcript['header']; readonly host: HttpHost } | undefined

  constructor(options: ReplayerOptions) {
    this.#options = options
    this.#processes = new Processes(options.runtime)
  }

  async replay(transcript: Transcript): Promise<Result> {
    const carrier = carrierOf(transcript, this.#options)
    const why = unfit(transcript, carrier)
    if (why !== undefined) return { kind: 'skipped', why }
    let beside: HttpHost | undefined
    try {
      beside = await this.#beside(transcript)
      this.#besidePort = beside && Number(beside.url.port)
      return await (carrier === 'stdio' ? this.#overStdio(transcript) : this.#overHttp(transcript))
    } catch (error) {
      if (!(error instanceof HostError)) throw error
      const events = [{ kind: 'failed', why: error.message }] as const
      return { kind: 'replayed', events, passed: false, times: 0, early: 0, stderr: error.stderr }
    } finally {
      await beside?.stop()
    }
  }

  /** What the configuration of the transcript needs, where that is what is started. */
  async #beside(transcript: Transcript): Promise<HttpHost | undefined> {
    const { runtime, timeoutMs, command, url } = this.#options
    const { beside } = transcript.header
    if (beside === undefined || command.length > 0 || url !== undefined) return undefined
    const prepare = (): ReturnType<typeof prepareBeside> =>
      prepareBeside(transcript, beside, this.#launchOptions())
    return HttpHost.start({ processes: this.#processes, runtime, timeoutMs, prepare })
  }

  /** Ends what is still running. */
  async close(): Promise<void> {
    await this.#stopHost()
    this.#processes.close()
  }

  async #overStdio(transcript: Transcript): Promise<ReplayOutcome> {
    const launch = await prepareLaunch(transcript, this.#launchOptions())
    const server = this.#processes.start(launch.spec)
    try {
      return await this.#against(server, transcript)
    } finally {
      await server.stop()
      await launch.dispose()
    }
  }

  async #overHttp(transcript: Transcript): Promise<ReplayOutcome> {
    const { url } = this.#options
    if (url !== undefined) return this.#at(new URL(url), transcript, () => '')
    const host = await this.#hostFor(transcript)
    return this.#at(urlFor(transcript, host.url), transcript, () => host.stderr)
  }

  async #at(url: URL, transcript: Transcript, stderr: () => string): Promise<ReplayOutcome> {
    const { headers, runtime, timeoutMs } = this.#options
    if (transcript.exchanges.length > 0)
      return replayExchanges(transcript, { url, headers, runtime, timeoutMs, stderr })
    const proxy = proxyFor(url, { own: undefined, env: runtime.env })
    const connect = await connectorFor(url, { proxy })
    const server = new ReplayRemote({ url, headers, runtime, connect, timeoutMs, stderr })
    try {
      return await this.#against(server, transcript)
    } finally {
      await server.stop()
    }
  }

  #against(server: Server, transcript: Transcript): Promise<ReplayOutcome> {
    const { runtime, timeoutMs } = this.#options
    return replayTranscript(transcript, server, { runtime, timeoutMs })
  }

  /** A fixture has a server of its own; the clients of a recording shared one. */
  async #hostFor(transcript: Transcript): Promise<HttpHost> {
    const { header } = transcript
    if (this.#host?.of === header && header.recorded) return this.#host.host
    await this.#stopHost()
    const { runtime, timeoutMs } = this.#options
    const prepare = (): ReturnType<typeof prepareHttpLaunch> =>
      prepareHttpLaunch(transcript, this.#launchOptions())
    const host = await HttpHost.start({ processes: this.#processes, runtime, timeoutMs, prepare })
    this.#host = { of: header, host }
    return host
  }

  async #stopHost(): Promise<void> {
    const held = this.#host
    this.#host = undefined
    await held?.host.stop()
  }

  #launchOptions(): LaunchOptions {
    return { ...this.#options.launch, command: this.#options.command, beside: this.#besidePort }
  }
}

/** Each schema of a recording has a path of its own. */
function urlFor({ schema }: Transcript, url: URL): URL {
  return schema === undefined ? url : new URL(`/api/${encodeURIComponent(schema)}/mcp`, url)
}
