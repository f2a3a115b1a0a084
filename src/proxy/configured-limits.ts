// Limits that the configuration sets. They are those of the start: the calls and processes that run were counted by them.

import type { Configuration } from '../config/config.js'
import { type Limits, limits as defaultLimits } from '../limits.js'
import type { LogSink } from '../runtime/runtime.js'

/** The limits of a start. */
export class ConfiguredLimits {
  /** In force until the end. */
  readonly inForce: Limits
  readonly #defaults: Limits | undefined
  readonly #log: LogSink
  /** What was said last, so that several schemas say it once. */
  #told: Limits

  constructor(config: Configuration, defaults: Limits | undefined, log: LogSink) {
    this.inForce = configured(config, defaults)
    this.#defaults = defaults
    this.#log = log
    this.#told = this.inForce
  }

  /** Says what a changed configuration does not change. */
  changed(config: Configuration): void {
    const [before, told, now] = [this.inForce, this.#told, configured(config, this.#defaults)]
    this.#told = now
    this.#warn('server.drainTimeout', now.drainMs, told.drainMs, before.drainMs)
    const [last, next] = [told.upstream.processesMax, now.upstream.processesMax]
    this.#warn('processesMax', next, last, before.upstream.processesMax)
  }

  #warn(key: string, now: number, told: number, before: number): void {
    if (now === before || now === told) return
    this.#log({ level: 'warn', message: needsRestart(key, now, before) })
  }
}

/** Tells that a changed value holds from the next start on. */
export function needsRestart(key: string, now: unknown, before: unknown): string {
  return `${key} is ${String(now)} now, which needs a restart; until then it is ${String(before)}`
}

/** The limits with what the configuration says in their places. */
function configured(config: Configuration, limits: Limits = defaultLimits): Limits {
  const { drainMs, upstream } = limits
  return {
    ...limits,
    drainMs: config.server.drainTimeoutMs ?? drainMs,
    upstream: { ...upstream, processesMax: config.processesMax ?? upstream.processesMax },
  }
}
