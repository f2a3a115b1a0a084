// The policy of the configuration in force, which is loaded when a configuration first has one.

import { secretsIn } from '../config/config.js'
import type { Configuration } from '../config/configuration.js'
import type { Policy, SchemaPolicy } from '../policy/policy.js'
import type { Runtime } from '../runtime/runtime.js'

/** For all schemas together: a limit holds for what a principal calls through any of them. */
export class ConfiguredPolicy {
  readonly #runtime: Runtime
  /** Kept when the rules leave the configuration and come back. */
  #policy: Policy | undefined
  #isInForce = false

  constructor(runtime: Runtime) {
    this.#runtime = runtime
  }

  /** Undefined while the configuration has neither limits nor confirmations. */
  of(schema: string): SchemaPolicy | undefined {
    return this.#isInForce ? this.#policy?.of(schema) : undefined
  }

  async change(config: Configuration): Promise<void> {
    const isNeeded = hasPolicy(config)
    if (isNeeded && this.#policy === undefined) {
      const { Policy } = await import('../policy/policy.js')
      // Schemas that are reloaded at the same time share it.
      this.#policy ??= new Policy(this.#runtime)
    }
    this.#policy?.change(config.limits, secretsIn(config))
    this.#isInForce = isNeeded
  }
}

function hasPolicy({ limits, schemas }: Configuration): boolean {
  if (limits.length > 0) return true
  return [...schemas.values()].some(({ servers }) => servers.some(({ confirm }) => confirm.length > 0))
}
