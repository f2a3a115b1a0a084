// The lists of a lane as `mcps.lock` lets clients see them.
//
// Everything that clients get of a server passes here, lists of an earlier start too. Accepted items stay the same
// objects, with the bytes of the server.

import { type ErrorBody } from '../../jsonrpc/build.js'
import { upstreamFailed } from '../../mcp/error-codes.js'
import type { ServerFacts } from '../../mcp/eras/server-opener.js'
import { type ListItem } from '../../mcp/list-items.js'
import type { ListKind } from '../../mcp/methods.js'
import type { Listed, ListChange, ListGuard, Verdict } from '../contracts/list-guard.js'
import type { ServerConfig } from '../contracts/server-config.js'
import type { ServerContext } from './context.js'
import type { Inbox } from './inbox.js'
import type { ServerLists } from './server-lists.js'

const NOTHING: readonly ListItem[] = []

const lockedKinds = ['tools', 'prompts'] as const
type ListedKind = (typeof lockedKinds)[number]

type GuardedSource = Pick<
  ServerLists,
  'items' | 'ownTool' | 'failures' | 'hasNames' | 'known' | 'keptFacts' | 'isKept'
>

export class GuardedLists {
  readonly #context: Pick<ServerContext, 'guard' | 'service'>
  readonly #lists: GuardedSource
  readonly #inbox: Pick<Inbox, 'server'>
  readonly #config: () => ServerConfig
  /** The last verdict, and everything that it depends on. */
  #latest: { readonly inputs: readonly unknown[]; readonly verdict: Verdict | undefined } | undefined
  /** The last list with a tool of the proxy's own. */
  #extended: { readonly judged: readonly ListItem[]; readonly items: readonly ListItem[] } | undefined
  #wasBlocked: string | undefined

  constructor(
    context: Pick<ServerContext, 'guard' | 'service'>,
    lists: GuardedSource,
    inbox: Pick<Inbox, 'server'>,
    config: () => ServerConfig,
  ) {
    this.#context = context
    this.#lists = lists
    this.#inbox = inbox
    this.#config = config
  }

  get said(): ServerFacts | undefined {
    return this.#inbox.server?.facts ?? this.#lists.keptFacts
  }

  get facts(): ServerFacts | undefined {
    const { said } = this
    return said && shownFacts(said, this.#verdict)
  }

  get changes(): readonly ListChange[] {
    return this.#verdict?.changes ?? []
  }

  /** Whether something is known of the list; one that could not be read may stand as it was before. */
  isKnown(kind: ListKind): boolean {
    return this.#lists.known.has(kind) || this.#lists.isKept(kind) || this.#lists.items(kind).length > 0
  }

  /** Undefined where everything is shown. Every call asks, and most configurations have no lock. */
  get #verdict(): Verdict | undefined {
    const guard = this.#context.guard()
    if (guard === undefined) return undefined
    const config = this.#config()
    const { said } = this
    const { instructions, lists } = this.#listed(said, (kind) => this.isKnown(kind))
    const inputs = [guard, config, said, lists.get('tools'), lists.get('prompts')]
    if (!inputs.every((input, at) => input === this.#latest?.inputs[at]))
      this.#latest = { inputs, verdict: guard.judge(config, { instructions, lists }) }
    return this.#latest?.verdict
  }

  #listed(facts: ServerFacts | undefined, isIncluded: (kind: ListedKind) => boolean): Listed {
    const lists = new Map(lockedKinds.filter(isIncluded).map((kind) => [kind, this.#lists.items(kind)]))
    return { instructions: instructionsOf(facts), lists }
  }

  items(kind: ListKind): readonly ListItem[] {
    const all = this.#lists.items(kind)
    const verdict = this.#verdict
    if (kind !== 'tools' && kind !== 'prompts') return verdict?.blocked === undefined ? all : NOTHING
    const judged = verdict?.lists.get(kind) ?? all
    const { ownTool } = this.#lists
    return kind === 'tools' && ownTool !== undefined ? this.#with(ownTool, judged) : judged
  }

  /** Lists have been read of a process that says this of itself. */
  complete(facts: ServerFacts): void {
    const guard = this.#context.guard()
    if (guard === undefined) return
    const { failures, known } = this.#lists
    const listed = this.#listed(facts, (kind) => known.has(kind) && !failures.has(kind))
    guard.complete(this.#config(), listed, listed.lists.size === lockedKinds.length)
  }

  /** Why no call may go to the server; what an earlier start has listed blocks none, and a list that fails saves none. */
  get blocked(): string | undefined {
    const verdict = this.#verdict
    if (verdict?.blocked === undefined) return undefined
    const { hasNames, known } = this.#lists
    const { why, by } = verdict.blocked
    const isOwn = by.some((kind) => (kind === 'instructions' ? known.size > 0 : known.has(kind)))
    return hasNames || by.length === 0 || isOwn ? why : undefined
  }

  /** Whether the server is blocked since the last look, or is not any more. */
  turned(): boolean {
    const before = this.#wasBlocked
    this.#wasBlocked = this.blocked
    return before !== this.#wasBlocked
  }

  error(why: string): ErrorBody {
    return upstreamFailed(this.#context.service, 'changed', why)
  }

  /** A tool of the proxy's own is no item of the server. The result is the same array for the same items. */
  #with(ownTool: ListItem, judged: readonly ListItem[]): readonly ListItem[] {
    if (this.#extended?.judged !== judged) this.#extended = { judged, items: [...judged, ownTool] }
    return this.#extended.items
  }
}

function instructionsOf(facts: ServerFacts | undefined): Listed['instructions'] {
  return facts && { text: facts.instructions }
}

/** The facts of an earlier start as clients may see them before one uses the server. */
export function guardedFacts(
  guard: ListGuard | undefined,
  config: ServerConfig,
  facts: ServerFacts | undefined,
): ServerFacts | undefined {
  if (guard === undefined || facts === undefined) return facts
  return shownFacts(facts, guard.judge(config, { instructions: instructionsOf(facts), lists: new Map() }))
}

function shownFacts(facts: ServerFacts, verdict: Verdict | undefined): ServerFacts {
  return verdict?.showsInstructions === false ? { ...facts, instructions: undefined } : facts
}
