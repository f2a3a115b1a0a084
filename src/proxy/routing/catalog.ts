// The catalog: public names, and for each the lane and the server's own name.
//
// A public name maps back through these tables and never by splitting it.

import { offersTasks } from './client-tasks.js'
import type { Line } from '../../jsonrpc/line.js'
import { type Edit, NO_EDITS, bothEdits } from '../../jsonrpc/splice.js'
import type { Span } from '../../jsonrpc/scan.js'
import { quote } from '../../jsonrpc/text.js'
import { type ApartUris, apartUri, apartUriEdits, isSameApart } from '../../mcp/apart-uris.js'
import { type ListItem, itemEdits, listResult } from '../../mcp/list-items.js'
import type { Call } from '../../calls/call.js'
import type { ListKind } from '../../mcp/methods.js'
import type { Revision } from '../../mcp/revisions.js'
import { type NameCollision, PublicNames } from '../../mcp/names.js'
import { UriTemplates, uriTemplateLimits } from '../../mcp/uri-template.js'
import type { LogSink } from '../../runtime/runtime.js'
import type { CatalogView } from './catalog-view.js'
import type { CallTarget, Lane } from '../../upstream/contracts/upstream.js'

/** One listed item and where it is. */
export interface Target {
  readonly lane: CallTarget
  readonly item: ListItem
  readonly publicName: string
  /** The text that is put in front of its description. */
  readonly mark: string | undefined
  /** The own name as the server wrote it, quotes included. */
  readonly ownKey: Uint8Array
  /** Of a tool: the addresses of its server that clients see otherwise. */
  readonly apart?: ApartUris | undefined
}

/** The edits from the public name, which stands at `span`, to the name that the server knows. */
export function nameEdits(span: Span | undefined, name: string, { item, ownKey }: Target): readonly Edit[] {
  if (span === undefined || name === item.key) return NO_EDITS
  return [{ start: span.start, end: span.end, bytes: ownKey, why: 'name' }]
}

/** The client that gets a list. */
interface ListReader {
  readonly era: Revision['era']
  splice(line: Line, edits: readonly Edit[]): Uint8Array
}

/** The reader of the list that this call asks for. */
export function readerOf(call: Call): ListReader {
  return { era: call.context.revision.era, splice: (line, edits) => call.splice(line, edits) }
}

interface Index {
  /** The lists of the lanes when the index was made. */
  readonly sources: readonly (readonly ListItem[])[]
  /** Those that are listed, in configuration order, then the server's own. */
  readonly targets: readonly Target[]
  /**
   * By public names, and of tools and prompts by the servers' own names and older ones where no item has that public name;
   * undefined where several servers have one.
   */
  readonly byName: ReadonlyMap<string, Target | undefined>
  /**
   * Of resources and tools, by the name of the server: its addresses that clients see otherwise, since an earlier server
   * lists them too.
   */
  readonly apart: ReadonlyMap<string, ApartUris>
  /** The number of this state of the list; a cursor names it. */
  readonly generation: number
}

/** The part that the catalogs of all clients share. */
interface CatalogContext {
  readonly log: LogSink
  /** Whether a warning about names was not logged yet: an index is made again for each change of a list and for many clients. */
  readonly isNews: (warning: string) => boolean
  /** Numbers the states of lists. */
  readonly next: () => number
}

/** The lists and names of some lanes. */
export class Catalog {
  readonly lanes: readonly CallTarget[]
  readonly view: CatalogView
  /** Whether its clients can call tools as tasks. */
  readonly hasTasks: boolean
  readonly #context: CatalogContext
  readonly #indexes = new Map<ListKind, Index>()
  /** Whether the resources have changed since the index of tools was compared with them. */
  #isDoubtful = false
  /** Read when a URI is first matched with them. */
  #templates: UriTemplates<Target> | undefined

  constructor(lanes: readonly CallTarget[], view: CatalogView, hasTasks: boolean, context: CatalogContext) {
    this.lanes = lanes
    this.view = view
    this.hasTasks = hasTasks
    this.#context = context
  }

  /** The lists of some server have changed. */
  invalidate(kinds: readonly ListKind[]): void {
    for (const kind of kinds) this.#indexes.delete(kind)
    // A tool names the address of its app, which is a resource.
    this.#isDoubtful ||= kinds.includes('resources')
    if (kinds.includes('templates')) this.#templates = undefined
  }

  /** Drops indexes of lists that changed while no client was attached. */
  catchUp(): void {
    for (const [kind, { sources }] of this.#indexes) {
      const isFresh = this.lanes.every((lane, at) => lane.view.items(kind) === sources[at])
      if (!isFresh) this.invalidate([kind])
    }
  }

  /** The list as the client sees it now, in an array that does not change. */
  shown(kind: ListKind): readonly Target[] {
    return this.#index(kind).targets
  }

  /** The item with this public name, or with this own name where only one server has it; listed or not. */
  named(kind: 'tools' | 'prompts', name: string): Target | undefined {
    return this.#index(kind).byName.get(name)
  }

  /** The lane that lists this resource, else the one whose template fits it best. */
  resource(uri: string): CallTarget | undefined {
    return this.#index('resources').byName.get(uri)?.lane ?? this.#byTemplate(uri)
  }

  /** The edit from the address of a resource, which stands at `span`, to the one that its server knows. */
  uriEdits(uri: string, span: Span | undefined): readonly Edit[] {
    const target = this.#index('resources').byName.get(uri)
    if (span === undefined || target === undefined || target.publicName === target.item.key) return NO_EDITS
    return [{ start: span.start, end: span.end, bytes: target.ownKey, why: 'uri' }]
  }

  /** The addresses of this server that clients see otherwise. */
  apartUris(lane: CallTarget): ApartUris | undefined {
    return this.#apart().get(lane.config.name)
  }

  #apart(): Index['apart'] {
    return this.lanes.length === 1 ? NOTHING_APART : this.#index('resources').apart
  }

  /** The lanes that may have a resource which none lists and no template fits. */
  unlisted(uri: string): CallTarget[] {
    return this.lanes.filter((lane) => hasResources(lane) && this.view.hasUri(lane.config, uri))
  }

  /** Whether a name reads as one of this server's, for servers whose names are not known. */
  mayHave({ config }: CallTarget, name: string): boolean {
    return this.view.claims(config, name) !== false
  }

  /** Whether a name begins with the name of a server that prefixes its names. */
  hasPrefix(name: string): boolean {
    return this.lanes.some(({ config }) => this.view.claims(config, name) === true)
  }

  /** Edits of the arguments of a call of this tool. */
  callEdits(call: Call, { lane, item }: Target): readonly Edit[] {
    return this.view.callEdits(lane.config, item, call)
  }

  /** The lane that lists this template, or the resource of this URI. */
  reference(uri: string): CallTarget | undefined {
    return this.#index('templates').byName.get(uri)?.lane ?? this.resource(uri)
  }

  /**
   * One page of a list as raw JSON, from the cursor of the page before.
   *
   * Undefined for a cursor that is not ours or is older than the list.
   */
  page(
    kind: ListKind,
    cursor: string | undefined,
    pageBytesMax: number,
    reader: ListReader,
  ): Uint8Array | undefined {
    const { targets, generation } = this.#index(kind)
    const from = cursor === undefined ? 0 : offsetIn(cursor, generation, targets.length)
    if (from === undefined) return undefined
    const items: Uint8Array[] = []
    let bytes = 0
    for (const { item, publicName, mark, lane } of targets.slice(from)) {
      if (bytes >= pageBytesMax && items.length > 0) break
      const isWrapped = reader.era === 'session' && lane.view.facts?.revision.era === 'stateless'
      const edits = isNamed(kind) ? itemEdits(item, publicName, mark, isWrapped) : NO_EDITS
      const apart = this.apartUris(lane)
      const spliced = reader.splice(
        item.line,
        apart === undefined ? edits : withApart(item.line, edits, apart),
      )
      items.push(spliced)
      bytes += spliced.length
    }
    const next = from + items.length
    return listResult(kind, items, next < targets.length ? `${generation}.${next}` : undefined)
  }

  #byTemplate(uri: string): CallTarget | undefined {
    this.#templates ??= this.#readTemplates(this.#index('templates').targets)
    const lane = this.#templates.match(uri)?.lane
    return lane !== undefined && this.view.hasUri(lane.config, uri) ? lane : undefined
  }

  #readTemplates(targets: readonly Target[]): UriTemplates<Target> {
    const templates = new UriTemplates(targets, ({ item }) => item.key)
    if (templates.isCut) {
      const message = `only the first ${uriTemplateLimits.listLengthMax} characters of resource templates are matched with URIs`
      this.#context.log({ level: 'warn', message })
    }
    return templates
  }

  #index(kind: ListKind): Index {
    const known = this.#indexes.get(kind)
    if (known === undefined || (kind === 'tools' && this.#isDoubtful && this.#isOutdated(known)))
      return this.#build(kind)
    return known
  }

  #isOutdated({ apart }: Index): boolean {
    this.#isDoubtful = false
    const now = this.#apart()
    return apart.size !== now.size || [...apart].some(([server, uris]) => !isSameApart(uris, now.get(server)))
  }

  #build(kind: ListKind): Index {
    const all = isNamed(kind) ? this.#namedTargets(kind) : this.#plainTargets(kind)
    const isListed = ({ item, lane }: Target): boolean =>
      item.withheld === undefined && (!item.needsTask || (this.hasTasks && offersTasks(lane)))
    const targets = all.filter(isListed)
    // An item that is not listed is found by its name, so that the error can say why; it takes no name from a listed one.
    const found = [...targets, ...all.filter((each) => !isListed(each))]
    const byName = new Map<string, Target | undefined>()
    for (const each of found) if (!byName.has(each.publicName)) byName.set(each.publicName, each)
    if (isNamed(kind)) addOwnNames(byName, found, isListed)
    if (kind === 'tools') addOlderNames(targets, byName)
    const sources = this.lanes.map((lane) => lane.view.items(kind))
    const index = {
      sources,
      targets,
      byName,
      apart: kind === 'tools' ? this.#apart() : apartIn(targets, kind),
      generation: this.#context.next(),
    }
    this.#indexes.set(kind, index)
    return index
  }

  #namedTargets(kind: 'tools' | 'prompts'): Target[] {
    const names = new PublicNames((collision) => this.#logCollision(collision))
    return this.lanes.flatMap((lane) => {
      const { config } = lane
      const mark = kind === 'tools' && this.view.marks(config) ? `[${config.name}] ` : undefined
      const apart = kind === 'tools' ? this.apartUris(lane) : undefined
      return withoutRepeats(this.#items(lane, kind)).map((item) => {
        const wanted = this.view.nameOf(config, kind, item.key)
        // An item that no client gets takes no name from another one.
        const isNamed = item.withheld === undefined
        const name = isNamed ? names.add({ service: config.name, own: item.key }, wanted) : wanted
        return { ...target(lane, item, name, mark), apart }
      })
    })
  }

  #items(lane: CallTarget, kind: ListKind): ListItem[] {
    return lane.view.items(kind).flatMap((item) => this.view.item(lane.config, kind, item) ?? [])
  }

  #logCollision({ kind, name, earlier, later }: NameCollision): void {
    const what = kind === 'same' ? 'the name' : 'but for case, the name'
    const message = `'${later.own}' has ${what} of '${earlier.own}' of '${earlier.service}' (${name})`
    if (this.#context.isNews(`${later.service} ${message}`))
      this.#context.log({ level: 'warn', service: later.service, message })
  }

  /** Resources keep their URIs; of two servers that list one, the first in configuration order has it, unless both are kept apart. */
  #plainTargets(kind: ListKind): Target[] {
    const targets = new Map<string, Target>()
    for (const lane of this.lanes) {
      const repeated: string[] = []
      for (const item of this.#items(lane, kind)) {
        const earlier = targets.get(item.key)
        const isOthers = kind === 'resources' && earlier !== undefined && earlier.lane !== lane
        const shown = isOthers ? (apartUri(lane.config.name, item.key) ?? item.key) : item.key
        if (targets.has(shown)) repeated.push(item.key)
        else targets.set(shown, target(lane, item, shown))
      }
      this.#logRepeated(lane.config.name, kind, repeated)
    }
    return [...targets.values()]
  }

  /** One warning for all that a server lists again. */
  #logRepeated(service: string, kind: ListKind, [first, ...others]: readonly string[]): void {
    if (first === undefined || !this.#context.isNews(`${service} ${kind}`)) return
    const more = others.length === 0 ? '' : ` and ${others.length} more`
    const message = `${kind} are listed before, by this or another server: ${quote(first)}${more}`
    this.#context.log({ level: 'warn', service, message })
  }
}

/** Most warnings about names that are remembered as logged; beyond these nothing is new. */
const REPORTED_MAX = 1024

/**
 * The catalogs of a proxy's clients. Those that share all of their servers see the same names, so they share the tables of
 * them too: a session that only makes one call would spend more on these than on the call.
 */
export class Catalogs {
  readonly #context: CatalogContext
  /** For each view and kind of client, those of the latest lanes. */
  #shared: readonly Catalog[] = []

  constructor(log: LogSink) {
    const reported = new Set<string>()
    const isNews = (warning: string): boolean => {
      if (reported.has(warning) || reported.size >= REPORTED_MAX) return false
      reported.add(warning)
      return true
    }
    let last = 0
    this.#context = { log, isNews, next: () => ++last }
  }

  /** The catalog of a client with these lanes and this view; `hasTasks` says whether it can call tools as tasks. */
  of(lanes: readonly Lane[], view: CatalogView, hasTasks: boolean): Catalog {
    const make = (): Catalog => new Catalog(lanes, view, hasTasks, this.#context)
    if (!lanes.every((lane) => lane.shared)) return make()
    const known = this.#shared.find((each) => each.view === view && each.hasTasks === hasTasks)
    if (known !== undefined && isSame(known.lanes, lanes)) {
      known.catchUp()
      return known
    }
    const catalog = make()
    this.#shared = [...this.#shared.filter((each) => each !== known), catalog]
    return catalog
  }

  /** The configuration of the servers has changed. */
  renew(): void {
    this.#shared = []
  }
}

function isSame(lanes: readonly CallTarget[], others: readonly CallTarget[]): boolean {
  return lanes.length === others.length && lanes.every((lane, at) => lane === others[at])
}

/** The place that a cursor of this state of a list names. */
function offsetIn(cursor: string, generation: number, length: number): number | undefined {
  const [state, offset] = cursor.split('.')
  const at = Number(offset)
  return state === String(generation) && Number.isInteger(at) && at > 0 && at < length ? at : undefined
}

function target(lane: CallTarget, item: ListItem, publicName: string, mark?: string): Target {
  const ownKey = item.line.subarray(item.keySpan.start, item.keySpan.end)
  return { lane, item, publicName, mark, ownKey }
}

function isNamed(kind: ListKind): kind is 'tools' | 'prompts' {
  return kind === 'tools' || kind === 'prompts'
}

function withApart(line: Line, edits: readonly Edit[], uris: ApartUris): readonly Edit[] {
  return bothEdits(edits, apartUriEdits(line, { start: 0, end: line.length }, uris))
}

const NOTHING_APART: Index['apart'] = new Map()

/** The addresses that are not the servers' own, by their servers. */
function apartIn(targets: readonly Target[], kind: ListKind): ReadonlyMap<string, ApartUris> {
  const apart = new Map<string, Map<string, string>>()
  if (kind !== 'resources') return apart
  for (const { lane, item, publicName } of targets) {
    if (publicName === item.key) continue
    const uris = apart.get(lane.config.name) ?? new Map<string, string>()
    apart.set(lane.config.name, uris.set(item.key, publicName))
  }
  return apart
}

/** The servers' own names: a name that several listed items have is none of theirs. */
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

/** A name that an item has today is not an older name of another item. */
function addOlderNames(targets: readonly Target[], byName: Map<string, Target | undefined>): void {
  for (const found of targets)
    for (const [older, own] of found.lane.config.olderNames ?? [])
      if (own === found.item.key && !byName.has(older)) byName.set(older, found)
}

/** Whether a server that has said what it has may be asked for a resource. */
function hasResources({ view }: CallTarget): boolean {
  return view.facts?.capabilities.resources === true
}

/** Each name once. */
function withoutRepeats(items: readonly ListItem[]): ListItem[] {
  const met = new Set<string>()
  return items.filter(({ key }) => {
    if (met.has(key)) return false
    met.add(key)
    return true
  })
}
