// The catalog: public names, and for each the lane and the server's own name.
//
// These tables map a public name back; the proxy never splits the name. A table is built from the lists of
// the lanes when it is first needed, and again when one of the lists has changed.

import { offersTasks } from './client-tasks.js'
import type { Line } from '../../jsonrpc/line.js'
import { type Edit, NO_EDITS, bothEdits } from '../../jsonrpc/splice.js'
import type { Span } from '../../jsonrpc/scan.js'
import { type ApartUris, apartUri, apartUriEdits, isSameApart } from '../../mcp/apart-uris.js'
import { type ListItem, itemEdits, listResult } from '../../mcp/list-items.js'
import type { Call } from '../../calls/call.js'
import type { ListKind } from '../../mcp/methods.js'
import { PublicNames } from '../../mcp/names.js'
import { UriTemplates } from '../../mcp/uri-template.js'
import type { LogSink } from '../../runtime/runtime.js'
import type { CatalogView } from './views.js'
import type { CallTarget, Lane } from '../../upstream/contracts/upstream.js'

export interface Target {
  readonly lane: CallTarget
  readonly item: ListItem
  readonly publicName: string
  /** The text in front of the tool's description. */
  readonly mark?: string | undefined
  /** For a tool: the addresses of its server that clients see differently. */
  readonly apart?: ApartUris | undefined
}

/** Replaces the name that a client sent, at `span`, with the name that the server knows. */
export function nameEdits(
  span: Span | undefined,
  name: string,
  { item: { key, keySpan, line } }: Target,
  why: 'name' | 'uri' = 'name',
): readonly Edit[] {
  if (span === undefined || name === key) return NO_EDITS
  return [{ start: span.start, end: span.end, bytes: line.subarray(keySpan.start, keySpan.end), why }]
}

interface Index {
  readonly sources: ReadonlyMap<CallTarget, readonly ListItem[]>
  readonly targets: readonly Target[]
  /**
   * Keyed by public names; for tools and prompts also by the servers' own names and older names, unless an
   * item has that public name. Undefined if several servers have the name.
   */
  readonly byName: ReadonlyMap<string, Target | undefined>
  /** By server name: the addresses that clients see differently, because an earlier server lists them too. */
  readonly apart: ReadonlyMap<string, ApartUris>
  templates?: UriTemplates<Target>
}

const NOTHING_APART: Index['apart'] = new Map()

function isOf({ sources }: Index, lane: CallTarget, kind: ListKind): boolean {
  return sources.get(lane) === lane.view.items(kind)
}

export class Catalog {
  readonly lanes: readonly CallTarget[]
  readonly view: CatalogView
  /** Whether the clients can call tools as tasks. */
  readonly hasTasks: boolean
  readonly #all: Catalogs
  readonly #indexes = new Map<ListKind, Index>()

  constructor(lanes: readonly CallTarget[], view: CatalogView, hasTasks: boolean, all: Catalogs) {
    this.lanes = lanes
    this.view = view
    this.hasTasks = hasTasks
    this.#all = all
  }

  /** The list as the client sees it now, in an array that does not change. */
  shown(kind: ListKind): readonly Target[] {
    return this.#index(kind).targets
  }

  /**
   * The item with this public name, or with this own name if only one server has it; listed or not.
   *
   * A known item stays valid while its own server has the same list. The lists of all other servers, which
   * may be hundreds, are compared only for a whole list, and for a name that is not found this way.
   */
  named(kind: ListKind, name: string): Target | undefined {
    const known = this.#indexes.get(kind)
    const target = known?.byName.get(name)
    const isListed = known !== undefined && target !== undefined && isOf(known, target.lane, kind)
    return isListed ? target : this.#index(kind).byName.get(name)
  }

  resource(uri: string): CallTarget | undefined {
    return this.named('resources', uri)?.lane ?? this.#byTemplate(uri)
  }

  uriEdits(uri: string, span: Span | undefined): readonly Edit[] {
    const target = this.named('resources', uri)
    return target === undefined ? NO_EDITS : nameEdits(span, uri, target, 'uri')
  }

  apartUris(lane: CallTarget): ApartUris | undefined {
    const known = this.#indexes.get('resources')
    const apart = known !== undefined && isOf(known, lane, 'resources') ? known.apart : this.#apart
    return apart.get(lane.config.name)
  }

  /** The lanes that may have a resource which no server lists and no template fits. */
  unlisted(uri: string): CallTarget[] {
    if (!this.view.hasUri(uri)) return []
    return this.lanes.filter(({ view }) => view.facts?.capabilities.resources === true)
  }

  reference(uri: string): CallTarget | undefined {
    return this.#index('templates').byName.get(uri)?.lane ?? this.resource(uri)
  }

  /**
   * One page of a list for a call, as raw JSON. The cursor is the last item of the page before.
   * @returns undefined if the list has no such item
   */
  page(
    kind: ListKind,
    cursor: string | undefined,
    pageBytesMax: number,
    call: Pick<Call, 'context' | 'splice'>,
  ): Uint8Array | undefined {
    const targets = this.shown(kind)
    const from = cursor === undefined ? 0 : targets.findIndex(({ publicName }) => publicName === cursor) + 1
    if (from === 0 && cursor !== undefined) return undefined
    const isOfSession = call.context.revision.era === 'session'
    const apart = this.#apart
    const items: Uint8Array[] = []
    let bytes = 0
    for (const { item, publicName, mark, lane } of targets.slice(from)) {
      if (bytes >= pageBytesMax && items.length > 0) break
      const isWrapped = isOfSession && lane.view.facts?.revision.era === 'stateless'
      const edits = isNamed(kind) ? itemEdits(item, publicName, mark, isWrapped) : NO_EDITS
      const uris = apart.get(lane.config.name)
      const spliced = call.splice(item.line, uris === undefined ? edits : withApart(item.line, edits, uris))
      items.push(spliced)
      bytes += spliced.length
    }
    const next = from + items.length
    return listResult(kind, items, next < targets.length ? targets[next - 1]?.publicName : undefined)
  }

  #byTemplate(uri: string): CallTarget | undefined {
    if (!this.view.hasUri(uri)) return undefined
    const index = this.#index('templates')
    index.templates ??= new UriTemplates(index.targets, ({ item }) => item.key)
    return index.templates.match(uri)?.lane
  }

  get #apart(): Index['apart'] {
    return this.lanes.length === 1 ? NOTHING_APART : this.#index('resources').apart
  }

  #index(kind: ListKind): Index {
    const known = this.#indexes.get(kind)
    const isFresh =
      known !== undefined &&
      this.lanes.every((lane) => isOf(known, lane, kind)) &&
      // The address of a tool's app is a resource, so the tools depend on these addresses.
      (kind !== 'tools' || known.apart === this.#apart)
    if (isFresh) return known
    const index = this.#build(kind, known)
    this.#indexes.set(kind, index)
    return index
  }

  #build(kind: ListKind, before: Index | undefined): Index {
    const sources = new Map(this.lanes.map((lane) => [lane, lane.view.items(kind)]))
    const all = isNamed(kind) ? this.#namedTargets(kind, sources) : this.#plainTargets(kind, sources)
    const isListed = ({ item, lane }: Target): boolean =>
      item.withheld === undefined && (!item.needsTask || (this.hasTasks && offersTasks(lane)))
    const targets = all.filter(isListed)
    // An unlisted item is found by name, so that the error gives the reason. It takes no listed item's name.
    const found = [...targets, ...all.filter((each) => !isListed(each))]
    const byName = new Map<string, Target | undefined>()
    for (const each of found) if (!byName.has(each.publicName)) byName.set(each.publicName, each)
    if (isNamed(kind)) addOwnNames(byName, found, isListed)
    if (kind === 'tools') addOlderNames(targets, byName)
    const apart = kind === 'tools' ? this.#apart : apartIn(targets, kind, before?.apart)
    return { sources, targets, byName, apart }
  }

  #namedTargets(kind: 'tools' | 'prompts', sources: Index['sources']): Target[] {
    const names = new PublicNames((name, earlier, later) => {
      const whose = `'${earlier.original}' of '${earlier.service}' (${name})`
      this.#all.warn(later.service, `'${later.original}' has the name of ${whose}`)
    })
    return this.lanes.flatMap((lane) => {
      const { config } = lane
      const mark = kind === 'tools' && this.view.marks(config) ? `[${config.name}] ` : undefined
      const apart = kind === 'tools' ? this.#apart.get(config.name) : undefined
      const met = new Set<string>()
      return this.#visible(lane, kind, sources.get(lane)).flatMap((item) => {
        if (met.has(item.key)) return []
        met.add(item.key)
        const wanted = this.view.nameOf(config, kind, item.key)
        // A withheld item takes no name from another item.
        const isNamed = item.withheld === undefined
        const publicName = isNamed ? names.add({ service: config.name, original: item.key }, wanted) : wanted
        return [{ lane, item, publicName, mark, apart }]
      })
    })
  }

  #visible(lane: CallTarget, kind: ListKind, items: readonly ListItem[] = []): ListItem[] {
    return items.flatMap((item) => this.view.item(lane.config, kind, item) ?? [])
  }

  /** Resources keep their URIs. If two servers list one URI, the later one gets a separate address if possible. */
  #plainTargets(kind: ListKind, sources: Index['sources']): Target[] {
    const targets = new Map<string, Target>()
    for (const lane of this.lanes) {
      for (const item of this.#visible(lane, kind, sources.get(lane))) {
        const earlier = targets.get(item.key)
        const isOthers = kind === 'resources' && earlier !== undefined && earlier.lane !== lane
        const publicName = isOthers ? (apartUri(lane.config.name, item.key) ?? item.key) : item.key
        if (!targets.has(publicName)) targets.set(publicName, { lane, item, publicName })
      }
    }
    return [...targets.values()]
  }
}

/** The limit of remembered warnings about names. Beyond it, no new warning is logged. */
const REPORTED_MAX = 1024

/**
 * The catalogs of a proxy's clients. Clients that share all of their servers see the same names, so they also
 * share the tables: a session with a single call would spend more time on the tables than on the call.
 */
export class Catalogs {
  readonly #log: LogSink
  readonly #reported = new Set<string>()
  /** One catalog for each view and kind of client, made from the latest lanes. */
  #shared: readonly Catalog[] = []

  constructor(log: LogSink) {
    this.#log = log
  }

  /** The catalog of a client with these lanes and this view; `hasTasks`: whether it can call tools as tasks. */
  of(lanes: readonly Lane[], view: CatalogView, hasTasks: boolean): Catalog {
    const make = (): Catalog => new Catalog(lanes, view, hasTasks, this)
    if (!lanes.every((lane) => lane.isShared)) return make()
    const known = this.#shared.find((each) => each.view === view && each.hasTasks === hasTasks)
    if (known !== undefined && isSame(known.lanes, lanes)) return known
    const catalog = make()
    this.#shared = [...this.#shared.filter((each) => each !== known), catalog]
    return catalog
  }

  renew(): void {
    this.#shared = []
  }

  /** Logs a warning about names once, though the index is rebuilt for each change of a list and for many clients. */
  warn(service: string, message: string): void {
    const key = `${service} ${message}`
    if (this.#reported.has(key) || this.#reported.size >= REPORTED_MAX) return
    this.#reported.add(key)
    this.#log({ level: 'warn', service, message })
  }
}

function isSame(lanes: readonly CallTarget[], others: readonly CallTarget[]): boolean {
  return lanes.length === others.length && lanes.every((lane, at) => lane === others[at])
}

function isNamed(kind: ListKind): kind is 'tools' | 'prompts' {
  return kind === 'tools' || kind === 'prompts'
}

function withApart(line: Line, edits: readonly Edit[], uris: ApartUris): readonly Edit[] {
  return bothEdits(edits, apartUriEdits(line, { start: 0, end: line.length }, uris))
}

/** The addresses that clients see differently, by server; returns `before` if nothing differs. */
function apartIn(
  targets: readonly Target[],
  kind: ListKind,
  before: Index['apart'] = NOTHING_APART,
): Index['apart'] {
  const apart = new Map<string, Map<string, string>>()
  for (const { lane, item, publicName } of kind === 'resources' ? targets : []) {
    if (publicName === item.key) continue
    const uris = apart.get(lane.config.name) ?? new Map<string, string>()
    apart.set(lane.config.name, uris.set(item.key, publicName))
  }
  const isSameMap =
    apart.size === before.size && [...apart].every(([server, uris]) => isSameApart(uris, before.get(server)))
  return isSameMap ? before : apart
}

/** Adds the servers' own names. A name that several listed items have belongs to none of them. */
function addOwnNames(
  byName: Map<string, Target | undefined>,
  targets: readonly Target[],
  isListed: (target: Target) => boolean,
): void {
  const publicNames = new Set(byName.keys())
  for (const target of targets) {
    const { key } = target.item
    if (publicNames.has(key)) continue
    if (!byName.has(key)) byName.set(key, target)
    else if (isListed(target)) byName.set(key, undefined)
  }
}

/** Adds older names. A name that an item has now is not an older name of another item. */
function addOlderNames(targets: readonly Target[], byName: Map<string, Target | undefined>): void {
  for (const found of targets)
    for (const [older, own] of found.lane.config.olderNames ?? [])
      if (own === found.item.key && !byName.has(older)) byName.set(older, found)
}
