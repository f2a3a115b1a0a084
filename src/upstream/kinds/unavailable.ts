// A configured server that cannot be opened at all: the others do not wait for it.

import type { ErrorBody } from '../../jsonrpc/build.js'
import type { Call } from '../../calls/call.js'
import { authenticationFailed, upstreamFailed } from '../../mcp/error-codes.js'
import { credentialsRefusal } from '../auth/id-token-credentials.js'
import { type ServerConfig, isRemote } from '../contracts/server-config.js'
import type { Lane, ServerView, Upstream, UpstreamState, UpstreamStatus } from '../contracts/upstream.js'

export function unavailableUpstream(config: ServerConfig, failure: string): Upstream {
  // The variables of a remote server hold its credentials, nearly always.
  const refusal = isRemote(config) ? credentialsRefusal(config) : undefined
  const body = refusal && authenticationFailed(config.name, refusal.message)
  return new UnavailableUpstream(config, failure, body)
}

/** A server that was stopped by `proxy.stop`. */
export function stoppedUpstream(config: ServerConfig): Upstream {
  const failure = `'${config.name}' was stopped; it can be restarted`
  return new UnavailableUpstream(config, failure, undefined, 'disconnected')
}

/** A remote server that serves as many users as it may. */
export function fullUpstream(config: ServerConfig, usersMax: number): Upstream {
  const failure = `it serves ${usersMax} users already`
  return new UnavailableUpstream(config, failure, upstreamFailed(config.name, 'overloaded', failure))
}

/** The status of a server of which nothing is known. */
export function unopenedStatus({ name, kind }: ServerConfig): UpstreamStatus {
  return {
    name,
    kind,
    state: 'disconnected',
    error: undefined,
    connectedAtMs: undefined,
    pids: [],
    revision: undefined,
    evidence: undefined,
    tools: 0,
    gauges: { inFlight: 0, queued: 0, slots: 0, restarts: 0, memoryBytes: undefined },
  }
}

const nothing = (): undefined => undefined
const no = (): boolean => false
const none = (): never[] => []
const done = (): Promise<void> => Promise.resolve()

/** Says why the server cannot be used, as a server and as the lane of all its clients, which refuses every call. */
class UnavailableUpstream implements Upstream, Lane {
  config: ServerConfig
  readonly view: ServerView
  readonly isolated = false
  readonly listed: ReadonlySet<never> = new Set()
  readonly keepsTasks = false
  readonly retired = false
  readonly shared = true
  readonly pids: readonly number[] = []
  readonly #refusal: ErrorBody
  readonly #shown: UpstreamState

  constructor(config: ServerConfig, message: string, body?: ErrorBody, shown: UpstreamState = 'error') {
    this.config = config
    const refusal = body ?? upstreamFailed(config.name, 'unavailable', message)
    this.#refusal = refusal
    this.#shown = shown
    this.view = {
      state: 'error',
      failure: { message, body: refusal, reason: undefined },
      facts: undefined,
      before: { kind: 'nothing' },
      startedAt: undefined,
      isStarting: false,
      isPending: false,
      isComing: no,
      isShown: no,
      listedAt: nothing,
      wasKept: false,
      items: none,
      want: nothing,
    }
  }

  adjust(config: ServerConfig): void {
    this.config = config
  }

  attach(): Lane {
    return this
  }

  status(): UpstreamStatus {
    return { ...unopenedStatus(this.config), state: this.#shown, error: this.view.failure?.message }
  }

  call(call: Call): void {
    call.fail(this.#refusal)
  }

  readonly adopt = no
  readonly retire = done
  readonly close = done
  readonly takeSubscriptions = none
  readonly release = none
  readonly hurry = nothing
  readonly follow = nothing
  readonly level = nothing
  readonly rootsChanged = nothing
  readonly read = nothing
  readonly leave = nothing
}
