// The policy of a configuration: which calls of tools may go to their servers.
//
// Loaded only when a configuration has limits.

import { NO_EDITS, type Edit } from '../jsonrpc/splice.js'
import { write } from '../jsonrpc/text.js'
import type { Call } from '../mcp/call.js'
import { rateLimited } from '../mcp/error-codes.js'
import type { CallPolicy } from '../proxy/routing/call-policy.js'
import type { Target } from '../proxy/routing/catalog.js'
import { usualName } from '../proxy/routing/catalog-view.js'
import type { Clock } from '../runtime/deadline.js'
import { CallLimits, type LimitRule } from './limits.js'

/** Admits calls within their limits. */
export class Policy implements CallPolicy {
  readonly #limits: CallLimits
  /** The tools that calls were admitted to. A call that did not begin there, because of a reload, may come again. */
  readonly #admitted = new WeakMap<Call, string>()

  constructor(clock: Clock) {
    this.#limits = new CallLimits([], clock)
  }

  /** Takes other rules. */
  change(limits: readonly LimitRule[]): void {
    this.#limits.change(limits)
  }

  admit(call: Call, { lane: { config }, item }: Target, go: (more: readonly Edit[]) => void): void {
    const tool = write([config.name, item.key])
    if (this.#admitted.get(call.root) === tool) return go(NO_EDITS)
    const name = usualName(config, 'tools', item.key)
    const waitMs = this.#limits.take({ principal: principalOf(call), tool, name })
    if (waitMs !== undefined) return call.fail(rateLimited(name, waitMs))
    this.#admitted.set(call.root, tool)
    go(NO_EDITS)
  }
}

/** Without a front all clients are one principal. */
function principalOf({ context: { origin } }: Call): string {
  return origin?.principal ?? ''
}
