// The part of the servers that a client sees: everything, a profile, or one server under its own names.
//
// Lists, calls, prompts, resources, completions, subscriptions and change notifications all use the tables
// that `Catalog` makes of the lanes and the view of a client. The rules of a profile use the names that
// clients without a profile see. A reload changes the rules of a view but keeps the object, so that its
// clients keep their sessions and get a notification of each list that differs.

import { type Edit, NO_EDITS } from '../../jsonrpc/splice.js'
import type { Call } from '../../calls/call.js'
import { type ListItem, readListItem } from '../../mcp/list-items.js'
import type { ListKind } from '../../mcp/methods.js'
import { publicName } from '../../mcp/names.js'
import { argumentEdits, withoutParameters } from '../../mcp/set-arguments.js'
import { matcherOf } from '../../text/name-patterns.js'
import type { ServerConfig } from '../../upstream/contracts/server-config.js'
import type { NamePatterns, ViewRules } from '../../upstream/contracts/view-rules.js'

/** The views of a proxy, by keys such as `profile:review` and `server:github`. */
export class Views {
  readonly #whole = new CatalogView('')
  /** Removed views stay and show nothing. Their number is limited by the names that were ever configured. */
  readonly #views = new Map<string, CatalogView>()

  change(profiles: ReadonlyMap<string, ViewRules>, servers: readonly string[]): void {
    const rules = new Map<string, ViewRules>()
    for (const name of servers)
      rules.set(viewKey('server', name), { ...EVERYTHING, servers: [name], prefix: false, describe: false })
    for (const [name, each] of profiles) rules.set(viewKey('profile', name), each)
    for (const [key, view] of this.#views) if (!rules.has(key)) view.change(undefined)
    for (const [key, each] of rules) {
      const view = this.#views.get(key) ?? new CatalogView(key)
      view.change(each)
      this.#views.set(key, view)
    }
  }

  /** Without a key, the view of everything; undefined for an unknown or removed view. */
  of(key: string | undefined): CatalogView | undefined {
    const view = key === undefined ? this.#whole : this.#views.get(key)
    return view?.isGone === false ? view : undefined
  }
}

/** The key of a profile, or of one server under its own names. */
export function viewKey(kind: 'profile' | 'server', name: string): string {
  return `${kind}:${name}`
}

const ALL: NamePatterns = { allow: undefined, deny: [] }

const EVERYTHING: ViewRules = {
  servers: undefined,
  tools: { ...ALL, rename: new Map(), set: new Map() },
  prompts: ALL,
  resources: ALL,
  prefix: undefined,
  describe: undefined,
}

type Match = (name: string) => boolean

/** Rules with compiled patterns; undefined replaces a pattern that every name fits. */
interface ReadRules extends ViewRules {
  readonly shows: Readonly<Record<ListKind, Match | undefined>>
  readonly hasUri: Match | undefined
}

export class CatalogView {
  /** The key of the view; empty for the view of everything. */
  readonly name: string
  /** Whether the view is a profile, which may hide items of servers. */
  readonly isProfile: boolean
  isGone = false
  #rules: ReadRules
  /** Tools without the preset parameters, kept so that a tool is the same object each time. */
  #reduced = new WeakMap<ListItem, ListItem>()

  constructor(name: string, rules: ViewRules = EVERYTHING) {
    this.name = name
    this.isProfile = name.startsWith(viewKey('profile', ''))
    this.#rules = readRules(rules)
  }

  /** Undefined rules mark the view as removed. */
  change(rules: ViewRules | undefined): void {
    this.isGone = rules === undefined
    this.#rules = readRules(rules ?? { ...EVERYTHING, servers: [] })
    this.#reduced = new WeakMap()
  }

  /** Whether the client reaches this server. The proxy starts no process for a client that does not. */
  hasServer({ name }: ServerConfig): boolean {
    return this.#rules.servers?.includes(name) !== false
  }

  /** The name of an item, unless another item has it; for a resource, its URI. */
  nameOf(server: ServerConfig, kind: ListKind, own: string): string {
    const { prefix = server.prefix, tools } = this.#rules
    const isRenamed = kind === 'tools' && tools.rename.size > 0
    const renamed = isRenamed ? tools.rename.get(usualName(server, kind, own)) : undefined
    return renamed ?? usualName(server, kind, own, prefix)
  }

  /** Whether a name belongs to this server by its prefix or a rename; undefined if the names have no prefix. */
  claims(server: ServerConfig, name: string): boolean | undefined {
    const { prefix = server.prefix, tools } = this.#rules
    if (!prefix) return undefined
    return hasPrefixOf(server, name) || [...tools.rename.values()].includes(name)
  }

  marks({ describe }: ServerConfig): boolean {
    return this.#rules.describe ?? describe
  }

  /**
   * The item as the client sees it: undefined if it is hidden, else `item` itself or a reduced copy.
   * Arguments are checked against the schema of the result. The same item has the same result each time.
   */
  item(server: ServerConfig, kind: ListKind, item: ListItem): ListItem | undefined {
    const { allow, deny } = server.tools
    const isHidden = kind === 'tools' && (allow?.includes(item.key) === false || deny.includes(item.key))
    if (isHidden || this.#rules.shows[kind]?.(usualName(server, kind, item.key)) === false) return undefined
    const set = kind === 'tools' ? this.#setOf(server, item) : undefined
    return set === undefined || item.withheld !== undefined ? item : this.#withoutSet(item, set)
  }

  /** Whether the client may read or follow a resource that no server lists. */
  hasUri(uri: string): boolean {
    return this.#rules.hasUri?.(uri) !== false
  }

  /** Inserts the preset arguments into a tool call, in the order of their places; `item` is what `item()` returned. */
  callEdits(server: ServerConfig, item: ListItem, call: Call): readonly Edit[] {
    const set = this.#setOf(server, item)
    return set === undefined ? NO_EDITS : argumentEdits(call.frame, set)
  }

  #setOf(server: ServerConfig, { key }: ListItem): ReadonlyMap<string, string> | undefined {
    const { set } = this.#rules.tools
    return set.size === 0 ? undefined : set.get(usualName(server, 'tools', key))
  }

  #withoutSet(item: ListItem, set: ReadonlyMap<string, string>): ListItem {
    const known = this.#reduced.get(item)
    if (known !== undefined) return known
    const reduced = readListItem(withoutParameters(item.line, item.schemaSpan, set), 'tools') ?? item
    this.#reduced.set(item, reduced)
    return reduced
  }
}

/** The name of an item for clients without a profile, or with another prefix setting; for a resource, its URI. */
export function usualName(
  { name: service, tools, prefix }: ServerConfig,
  kind: ListKind,
  own: string,
  hasPrefix: boolean = prefix,
): string {
  if (kind === 'resources' || kind === 'templates') return own
  const short = kind === 'tools' ? (tools.rename.get(own) ?? own) : own
  return hasPrefix ? publicName(service, short) : short
}

export function hasPrefixOf({ name: service }: ServerConfig, name: string): boolean {
  return name.startsWith(`${service}__`)
}

/** The only server, if the client sees all of it. Only then do methods of extensions pass: they may name any item. */
export function soleServer<S extends { readonly config: ServerConfig }>(
  servers: readonly S[],
  view: CatalogView,
): S | undefined {
  const [only, other] = servers
  if (only === undefined || other !== undefined || view.isProfile) return undefined
  const { allow, deny } = only.config.tools
  return allow === undefined && deny.length === 0 ? only : undefined
}

function readRules(rules: ViewRules): ReadRules {
  const { tools, prompts, resources } = rules
  const isShown = matcher(resources)
  const shows = { tools: matcher(tools), prompts: matcher(prompts), resources: isShown, templates: isShown }
  return { ...rules, shows, hasUri: isShown && uriMatcher(isShown, resources) }
}

function matcher({ allow, deny }: NamePatterns): Match | undefined {
  if (allow === undefined && deny.length === 0) return undefined
  const isDenied = matcherOf(deny)
  const isAllowed = allow === undefined ? undefined : matcherOf(allow)
  return (name) => isAllowed?.(name) !== false && !isDenied(name)
}

/** `.` or `..` as a part of a path, in every spelling that a server may accept. */
const dotSegment = /(?:^|[/\\]|%2f|%5c)(?:\.|%2e){1,2}(?:[/\\?#]|%2f|%5c|$)/i

/**
 * Whether clients may use a URI that no server lists. A server may read the URI differently than the patterns
 * do. So a path with `..` is refused, because it would lead out of an allowed folder.
 */
function uriMatcher(isShown: Match, { deny }: NamePatterns): Match {
  const isDenied = matcherOf(deny)
  return (uri) => isShown(uri) && !dotSegment.test(uri) && !isDenied(plainUri(uri))
}

/** A URI without escapes, with its scheme and host in lower case. */
function plainUri(uri: string): string {
  const text = URL.canParse(uri) ? new URL(uri).href : uri
  return text.replaceAll(/(?:%[0-9a-f]{2})+/gi, (escapes) =>
    Buffer.from(escapes.replaceAll('%', ''), 'hex').toString('utf8'),
  )
}
