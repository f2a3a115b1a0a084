// A configured server that cannot be opened at all: the others do not wait for it.

import type { ErrorBody } from '../../jsonrpc/build.js'
import type { Call } from '../../mcp/call.js'
import { authenticationFailed, upstreamFailed } from '../../mcp/error-codes.js'
import type { ListItem } from '../../mcp/lists.js'
import { credentialsRefusal } from '../auth/credentials-leg.js'
import type { ServerConfig } from '../contracts/server-config.js'
import type { Lane, Upstream, UpstreamState, UpstreamStatus } from '../contracts/upstream.js'

const NOTHING: readonly ListItem[] = []

/** One whose configuration cannot be used; `failure` says why. */
export function unavailableUpstream(config: ServerConfig, failure: string): Upstream {
  // The variables of a remote server hold its credentials, nearly always.
  const refusal =
    config.kind === 'stdio'
      ? upstreamFailed(config.name, 'unavailable', failure)
      : authenticationFailed(config.name, credentialsRefusal(config, undefined).message)
  return new UnavailableUpstream(config, failure, refusal)
}

/** One that somebody has stopped. */
export function stoppedUpstream(config: ServerConfig): Upstream {
  const failure = `'${config.name}' was stopped; it can be restarted`
  const refusal = upstreamFailed(config.name, 'unavailable', failure)
  return new UnavailableUpstream(config, failure, refusal, 'disconnected')
}

/** Stands for it, says why, and refuses every call. */
class UnavailableUpstream implements Upstream, Lane {
  #config: ServerConfig
  /** Its state to whoever asks for the status. */
  readonly #shown: UpstreamState
  readonly failure: string
  readonly refusal: ErrorBody
  readonly state: UpstreamState = 'error'
  readonly capabilities = undefined
  readonly instructions = undefined
  readonly settled = undefined
  readonly listed = undefined
  readonly remembered = false
  readonly expected = false
  readonly shared = true
  readonly pids: readonly number[] = []
  readonly known = false
  readonly retired = false

  constructor(config: ServerConfig, failure: string, refusal: ErrorBody, shown: UpstreamState = 'error') {
    this.#config = config
    this.failure = failure
    this.refusal = refusal
    this.#shown = shown
  }

  get config(): ServerConfig {
    return this.#config
  }

  adjust(config: ServerConfig): void {
    this.#config = config
  }

  warm(): void {}

  adopt(): boolean {
    return false
  }

  attach(): Lane {
    return this
  }

  wake(): boolean {
    return false
  }

  hurry(): void {}

  pending(): undefined {
    return undefined
  }

  reading(): undefined {
    return undefined
  }

  knows(): boolean {
    return false
  }

  items(): readonly ListItem[] {
    return NOTHING
  }

  call(call: Call): void {
    call.fail(this.refusal)
  }

  level(): void {}

  rootsChanged(): void {}

  read(): void {}

  follow(): void {}

  release(): Call[] {
    return []
  }

  surrender(): string[] {
    return []
  }

  leave(): undefined {
    return undefined
  }

  status(): UpstreamStatus {
    const { name, kind } = this.config
    return {
      name,
      kind,
      state: this.#shown,
      error: this.failure,
      connectedAtMs: undefined,
      pids: this.pids,
      revision: undefined,
      tools: 0,
    }
  }

  retire(): Promise<void> {
    return Promise.resolve()
  }

  close(): Promise<void> {
    return Promise.resolve()
  }
}
