// The policy of the configuration in force, which is loaded when a configuration first has one.

import type { Configuration } from '../config/configuration.js'
import type { Policy } from '../policy/policy.js'
import type { Clock } from '../runtime/deadline.js'
import type { PolicySource } from './routing/call-policy.js'

/** Of all schemas together: a limit holds for what a principal calls through any of them. */
export class ConfiguredPolicy implements PolicySource {
  /** Undefined while the configuration has no limits. */
  current: Policy | undefined
  readonly #clock: Clock
  /** Kept when the limits leave the configuration and come back. */
  #policy: Policy | undefined

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Resolves when the policy of this configuration is in force. */
  async change({ limits }: Pick<Configuration, 'limits'>): Promise<void> {
    if (limits.length === 0) this.current = undefined
    else this.#policy ??= new (await import('../policy/policy.js')).Policy(this.#clock)
    this.#policy?.change(limits)
    if (limits.length > 0) this.current = this.#policy
  }
}
