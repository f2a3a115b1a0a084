// The policy of a configuration decides which tool calls the proxy forwards to their servers.
//
// The proxy loads this file only if a configuration has limits or confirmations.

import { readFrame } from '../jsonrpc/frame.js'
import { type Edit, inOrder, splice } from '../jsonrpc/splice.js'
import { membersAt, membersOf } from '../jsonrpc/members.js'
import { rawAt, write } from '../jsonrpc/text.js'
import type { Call } from '../calls/call.js'
import { limitsAway, rateLimited } from '../mcp/error-codes.js'
import type { ListItem } from '../mcp/list-items.js'
import type { CallPolicy } from '../proxy/routing/router.js'
import type { Target } from '../proxy/routing/catalog.js'
import { usualName } from '../proxy/routing/views.js'
import type { Runtime } from '../runtime/runtime.js'
import type { Store } from '../store/store.js'
import { matcherOf } from '../text/name-patterns.js'
import { Redactor } from '../text/redactor.js'
import type { ServerConfig } from '../upstream/contracts/server-config.js'
import { Confirmations } from './confirmations.js'
import { CallLimits, type LimitedCall, type LimitRule } from './limits.js'

/** Admits calls within their limits. Calls of some tools also need the consent of a person. */
export class Policy {
  readonly #limits: CallLimits
  readonly #redactor = new Redactor()
  readonly #questions: Confirmations
  /** The tool of each admitted call. A reload may route an admitted call a second time, without a second token. */
  readonly #admitted = new WeakMap<Call, string>()
  readonly #consent = new Consent()

  /** With a store, all instances on the store share the limits. */
  constructor(runtime: Runtime, store?: Pick<Store, 'take'>) {
    this.#limits = new CallLimits([], runtime, store)
    this.#questions = new Confirmations(runtime, this.#redactor)
  }

  /** Replaces the limits, and adds secrets that no question may show. */
  change(limits: readonly LimitRule[], secrets: readonly string[]): void {
    this.#limits.change(limits)
    this.#redactor.add(...secrets)
  }

  /** Returns the policy of one schema. All schemas share the limits; a confirmation counts for one schema only. */
  of(schema: string): CallPolicy {
    return {
      admit: (call, target, edits, go) => this.#admit(schema, call, target, edits, go),
      continues: (call) => this.#questions.continues(call),
    }
  }

  #admit(schema: string, call: Call, target: Target, edits: readonly Edit[], go: () => void): void {
    const { lane, item } = target
    const { config } = lane
    const tool = toolOf(target)
    const id = write([schema, tool])
    if (this.#admitted.get(call.root) === id) return go()
    const name = usualName(config, 'tools', item.key)
    const mustAsk = this.#consent.isNeeded(config, item, id)
    const principal = call.context.origin?.principal ?? ''
    const admitted = (): void => {
      this.#admitted.set(call.root, id)
      go()
    }
    this.#limit(call, { principal, tool, name }, () => {
      if (!mustAsk) return admitted()
      const asked = { schema, server: config.name, tool: item.key, args: argumentsOf(call, edits) }
      this.#questions.confirm(call, asked, admitted)
    })
  }

  /** Calls `go` if the call is within its limits, perhaps after an answer of the store; otherwise fails the call. */
  #limit(call: Call, limited: LimitedCall, go: () => void): void {
    const taken = this.#limits.take(limited)
    if (taken === undefined) return go()
    if (!(taken instanceof Promise))
      return call.fail((taken.isAway ? limitsAway : rateLimited)(limited.name, taken.waitMs))
    call.keep()
    void taken.then(() => {
      if (!call.isSettled) this.#limit(call, limited, go)
    })
  }
}

/** Returns one text for a server and the server's name of a tool. */
function toolOf({ lane: { config }, item }: Target): string {
  return write([config.name, item.key])
}

/** Returns the arguments that the server will get, as raw JSON. A profile may set some of them. */
function argumentsOf({ frame }: Call, edits: readonly Edit[]): string {
  const set = edits.filter(({ why }) => why === 'argument')
  const sent = set.length === 0 ? frame : readFrame(splice(frame.line, inOrder(set)).joined)
  const span = sent.kind === 'request' ? sent.params.members.span('arguments') : undefined
  return span === undefined ? '{}' : rawAt(sent.line, span)
}

/** The most destructive tools that `Consent` remembers. With more, every tool counts as destructive. */
const DESTRUCTIVE_MAX = 10_000

/** Decides which tools need consent. A destructive tool stays destructive, even if its server changes the hint. */
export class Consent {
  readonly #destructive = new Set<string>()

  /** `tool` names the tool among all schemas. */
  isNeeded({ confirm }: Pick<ServerConfig, 'confirm'>, item: ListItem, tool: string): boolean {
    const patterns = confirm.filter((rule) => typeof rule === 'string')
    if (matcherOf(patterns)(item.key)) return true
    if (patterns.length === confirm.length) return false
    const isKnown = (): boolean => this.#destructive.size >= DESTRUCTIVE_MAX || this.#destructive.has(tool)
    if (!isKnown() && isDestructive(item)) this.#destructive.add(tool)
    return isKnown()
  }
}

/** A tool is destructive unless an annotation says otherwise (MCP 2025-11-25, Tools: `ToolAnnotations`). */
function isDestructive({ line }: ListItem): boolean {
  const annotations = membersAt(line, membersOf(line)?.span('annotations'))
  const says = (hint: string, value: string): boolean => {
    const span = annotations?.span(hint)
    return span !== undefined && rawAt(line, span) === value
  }
  return !says('readOnlyHint', 'true') && !says('destructiveHint', 'false')
}
