// A configured server that cannot be opened. The other servers do not wait for it.

import type { ErrorBody } from '../../jsonrpc/build.js'
import type { Call } from '../../calls/call.js'
import { authenticationFailed, upstreamFailed } from '../../mcp/error-codes.js'
import { credentialsRefusal } from '../auth/id-token-credentials.js'
import { type ServerConfig, isRemote } from '../contracts/server-config.js'
import type { Lane, ServerView, Upstream, UpstreamState, UpstreamStatus } from '../contracts/upstream.js'

export function unavailableUpstream(config: ServerConfig, failure: string): Upstream {
  // The variables of a remote server nearly always hold its credentials.
  const refusal = isRemote(config) ? credentialsRefusal(config) : undefined
  const body = refusal && authenticationFailed(config.name, refusal.message)
  return new UnavailableUpstream(config, failure, body)
}

export function stoppedUpstream(config: ServerConfig): Upstream {
  const failure = `'${config.name}' was stopped; it can be restarted`
  return new UnavailableUpstream(config, failure, undefined, 'disconnected')
}

/** A remote server that has reached its limit of users. */
export function fullUpstream(config: ServerConfig, usersMax: number): Upstream {
  const failure = `it serves ${usersMax} users already`
  return new UnavailableUpstream(config, failure, upstreamFailed(config.name, 'overloaded', failure))
}

/** The status of a server without any known facts. */
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

/** A server, and the lane of all its clients, that refuses every call with the reason. */
class UnavailableUpstream implements Upstream, Lane {
  config: ServerConfig
  readonly view: ServerView
  readonly isIsolated = false
  readonly listed: ReadonlySet<never> = new Set()
  readonly keepsTasks = false
  readonly isRetired = false
  readonly isShared = true
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
  readonly wantFor = nothing
  readonly follow = nothing
  readonly setLogLevel = nothing
  readonly rootsChanged = nothing
  readonly setReading = nothing
  readonly leave = nothing
}
