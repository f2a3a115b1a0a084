// Views of the catalog for some clients: a profile, or one server under its own names.
//
// The names and patterns of a profile are those that clients without one see. A view stays the same object when a reload
// changes its rules, so that its clients keep their sessions and get a notification of each list that differs.

import { type Edit, NO_EDITS } from '../../jsonrpc/splice.js'
import type { Call } from '../../calls/call.js'
import { type ListItem, readListItem } from '../../mcp/list-items.js'
import type { ListKind } from '../../mcp/methods.js'
import { argumentEdits, withoutParameters } from '../../mcp/set-arguments.js'
import { matcherOf } from '../../text/name-patterns.js'
import type { ServerConfig } from '../../upstream/contracts/server-config.js'
import type { NamePatterns, ViewRules } from '../../upstream/contracts/view-rules.js'
import { type CatalogView, prefixedName, wholeCatalog } from './catalog-view.js'

/** The views of a proxy, by keys such as `profile:review` and `server:github`. */
export class Views {
  /** Those that are gone stay, and see nothing: there are as many as names were ever configured. */
  readonly #views = new Map<string, RuledView>()

  /** Takes the profiles and the servers of a configuration. */
  change(profiles: ReadonlyMap<string, ViewRules>, servers: readonly string[]): void {
    const rules = new Map<string, ViewRules>([
      ...servers.map((name): [string, ViewRules] => [viewKey('server', name), doorTo(name)]),
      ...[...profiles].map(([name, each]): [string, ViewRules] => [viewKey('profile', name), each]),
    ])
    for (const [key, view] of this.#views) if (!rules.has(key)) view.change(undefined)
    for (const [key, each] of rules) {
      const known = this.#views.get(key)
      if (known === undefined) this.#views.set(key, new RuledView(key, each))
      else known.change(each)
    }
  }

  /** Everything without a key; undefined where there is no such view, or none any more. */
  of(key: string | undefined): CatalogView | undefined {
    if (key === undefined) return wholeCatalog
    const view = this.#views.get(key)
    return view?.isGone === false ? view : undefined
  }

  has(view: CatalogView): boolean {
    return view === wholeCatalog || this.of(view.name) === view
  }
}

/** The key of a profile, or of one server under its own names. */
export function viewKey(kind: 'profile' | 'server', name: string): string {
  return `${kind}:${name}`
}

const everything: NamePatterns = { allow: undefined, deny: [] }

const WHOLE: ViewRules = {
  servers: undefined,
  tools: { ...everything, rename: new Map(), set: new Map() },
  prompts: everything,
  resources: everything,
  prefix: undefined,
  describe: undefined,
}

const NOTHING: ViewRules = { ...WHOLE, servers: [] }

function doorTo(server: string): ViewRules {
  return { ...WHOLE, servers: [server], prefix: false, describe: false }
}

type Match = (name: string) => boolean

/** Rules with their patterns compiled. */
interface ReadRules extends ViewRules {
  readonly shows: Readonly<Record<ListKind, Match>>
  readonly hasUri: Match
}

/** A view by rules, which may change. */
class RuledView implements CatalogView {
  readonly name: string
  readonly isProfile: boolean
  isGone = false
  #rules: ReadRules
  /** Tools without the parameters that are set; a tool is one object each time. */
  #reduced = new WeakMap<ListItem, ListItem>()

  constructor(name: string, rules: ViewRules) {
    this.name = name
    this.isProfile = name.startsWith(viewKey('profile', ''))
    this.#rules = readRules(rules)
  }

  /** Undefined rules are those of a view that is gone. */
  change(rules: ViewRules | undefined): void {
    this.isGone = rules === undefined
    this.#rules = readRules(rules ?? NOTHING)
    this.#reduced = new WeakMap()
  }

  hasServer({ name }: ServerConfig): boolean {
    return this.#rules.servers?.includes(name) !== false
  }

  nameOf(server: ServerConfig, kind: ListKind, own: string): string {
    const { prefix = server.prefix, tools } = this.#rules
    const renamed = kind === 'tools' ? tools.rename.get(wholeCatalog.nameOf(server, kind, own)) : undefined
    return renamed ?? prefixedName(server, kind, own, prefix)
  }

  claims(server: ServerConfig, name: string): boolean | undefined {
    const { prefix = server.prefix, tools } = this.#rules
    if (!prefix) return undefined
    return name.startsWith(`${server.name}__`) || [...tools.rename.values()].includes(name)
  }

  marks({ describe }: ServerConfig): boolean {
    return this.#rules.describe ?? describe
  }

  item(server: ServerConfig, kind: ListKind, item: ListItem): ListItem | undefined {
    const shown = wholeCatalog.item(server, kind, item)
    if (shown === undefined || !this.#rules.shows[kind](wholeCatalog.nameOf(server, kind, item.key)))
      return undefined
    const set = kind === 'tools' ? this.#setOf(server, item) : undefined
    return set === undefined || shown.withheld !== undefined ? shown : this.#withoutSet(shown, set)
  }

  hasUri(_server: ServerConfig, uri: string): boolean {
    return this.#rules.hasUri(uri)
  }

  callEdits(server: ServerConfig, item: ListItem, call: Call): readonly Edit[] {
    const set = this.#setOf(server, item)
    return set === undefined ? NO_EDITS : argumentEdits(call.frame, set)
  }

  #setOf(server: ServerConfig, { key }: ListItem): ReadonlyMap<string, string> | undefined {
    const { set } = this.#rules.tools
    return set.size === 0 ? undefined : set.get(wholeCatalog.nameOf(server, 'tools', key))
  }

  #withoutSet(item: ListItem, set: ReadonlyMap<string, string>): ListItem {
    const known = this.#reduced.get(item)
    if (known !== undefined) return known
    const reduced = readListItem(withoutParameters(item.line, item.schemaSpan, set), 'tools') ?? item
    this.#reduced.set(item, reduced)
    return reduced
  }
}

function readRules(rules: ViewRules): ReadRules {
  const { tools, prompts, resources } = rules
  const isShown = matcher(resources)
  const shows = { tools: matcher(tools), prompts: matcher(prompts), resources: isShown, templates: isShown }
  return { ...rules, shows, hasUri: uriMatcher(resources) }
}

/** Whether a name is allowed and not denied. */
function matcher({ allow, deny }: NamePatterns): Match {
  const isDenied = matcherOf(deny)
  const isAllowed = allow === undefined ? undefined : matcherOf(allow)
  return (name) => isAllowed?.(name) !== false && !isDenied(name)
}

/** `.` or `..` as a part of a path, in every spelling that some server may take for it. */
const dotSegment = /(?:^|[/\\]|%2f|%5c)(?:\.|%2e){1,2}(?:[/\\?#]|%2f|%5c|$)/i

/**
 * Whether clients may use a URI that no list has. It may be written in a way that a server reads as another one: a path
 * with `..` is refused, because it would lead out of a folder that is allowed.
 */
function uriMatcher(patterns: NamePatterns): Match {
  if (patterns.allow === undefined && patterns.deny.length === 0) return () => true
  const isShown = matcher(patterns)
  const isDenied = matcherOf(patterns.deny)
  return (uri) => isShown(uri) && !dotSegment.test(uri) && !isDenied(plainUri(uri))
}

/** A URI without escapes, with its scheme and host in lower case. */
function plainUri(uri: string): string {
  const text = URL.canParse(uri) ? new URL(uri).href : uri
  return text.replaceAll(/(?:%[0-9a-f]{2})+/gi, (escapes) =>
    Buffer.from(escapes.replaceAll('%', ''), 'hex').toString('utf8'),
  )
}
