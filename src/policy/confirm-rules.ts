// Which tools need the consent of a person, by the rules of their servers.
//
// The annotations of a tool are words of its server (MCP, Tools: annotations), so they can only add questions: a tool that was
// destructive once stays so, also when its server describes it otherwise later.

import { membersAt, membersOf } from '../jsonrpc/members.js'
import { rawAt } from '../jsonrpc/text.js'
import type { ListItem } from '../mcp/list-items.js'
import { matcherOf } from '../text/name-patterns.js'
import type { ServerConfig } from '../upstream/contracts/server-config.js'

/** Tools that were destructive. With more of them every tool of such a rule counts as destructive. */
const DESTRUCTIVE_MAX = 10_000

/** A tool and its server. */
export interface RuledTool {
  readonly lane: { readonly config: ServerConfig }
  readonly item: ListItem
}

/** The rules of all servers of one schema. */
export class ConfirmRules {
  /** Servers and tools, as one text. */
  readonly #destructive = new Set<string>()

  /** Whether a person must agree to a call of this tool; `tool` names it and its server, and no other. */
  asksFor({ lane: { config }, item }: RuledTool, tool: string): boolean {
    const patterns = config.confirm.filter((rule) => typeof rule === 'string')
    if (matcherOf(patterns)(item.key)) return true
    return patterns.length < config.confirm.length && this.#wasDestructive(item, tool)
  }

  #wasDestructive(item: ListItem, tool: string): boolean {
    if (this.#destructive.has(tool)) return true
    if (this.#destructive.size >= DESTRUCTIVE_MAX) return true
    const isDestructive = saysDestructive(item)
    if (isDestructive) this.#destructive.add(tool)
    return isDestructive
  }
}

/** A tool is destructive unless it is said to read only, or not to destroy; what cannot be read says nothing. */
function saysDestructive({ line }: ListItem): boolean {
  const annotations = membersAt(line, membersOf(line)?.span('annotations'))
  const says = (hint: string, value: string): boolean => {
    const span = annotations?.span(hint)
    return span !== undefined && rawAt(line, span) === value
  }
  return !says('readOnlyHint', 'true') && !says('destructiveHint', 'false')
}
