// More rights for single requests: the scopes that a server names when it refuses one (MCP, Authorization: step-up
// authorization flow).

import type { Runtime } from '../runtime/runtime.js'
import { type BearerChallenge, scopesIn } from './challenges.js'

/** So often is one server's wish for more rights followed in a row, and then not for this long. */
const TIMES_MAX = 3
const PAUSE_MS = 600_000

/** A challenge may be of any length. */
const SCOPES_MAX = 100

/** Remembers the requests for more scopes, and ends the loop of a server that always wants more. */
export class StepUps {
  readonly #runtime: Pick<Runtime, 'now'>
  #times: number[] = []
  /** Scopes that the server has wanted, beyond those of the login. */
  #wanted: readonly string[] = []

  constructor(runtime: Pick<Runtime, 'now'>) {
    this.#runtime = runtime
  }

  get wanted(): readonly string[] {
    return this.#wanted
  }

  /**
   * The union of all scopes to ask for, where that may help: the challenge names one that was never asked for, and few were
   * asked for lately. `asked` are those of the last request for a token.
   */
  next(asked: readonly string[], challenge: BearerChallenge | undefined): readonly string[] | undefined {
    const now = this.#runtime.now()
    this.#times = this.#times.filter((at) => now - at < PAUSE_MS)
    const more = scopesIn(challenge?.get('scope')).filter((scope) => !asked.includes(scope))
    const all = scopesIn([...this.#wanted, ...more].join(' '))
    if (more.length === 0 || this.#times.length >= TIMES_MAX || all.length > SCOPES_MAX) return undefined
    this.#times.push(now)
    this.#wanted = all
    return scopesIn([...asked, ...all].join(' '))
  }
}
