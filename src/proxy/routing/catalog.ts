// The catalog: public names, and for each the lane and the server's own name.
//
// A public name maps back through these tables and never by splitting it.

import { offersTasks } from './client-tasks.js'
import type { Line } from '../../jsonrpc/line.js'
import { type Edit, NO_EDITS, bothEdits } from '../../jsonrpc/splice.js'
import type { Span } from '../../jsonrpc/scan.js'
import { quote } from '../../jsonrpc/text.js'
import { type ApartUris, apartUri, apartUriEdits } from '../../mcp/apart-uris.js'
import { type ListItem, itemEdits, listResult } from '../../mcp/list-items.js'
import type { Call } from '../../mcp/call.js'
import type { ListKind } from '../../mcp/methods.js'
import type { Revision } from '../../mcp/revisions.js'
import { type NameCollision, resolveNames } from '../../mcp/names.js'
import { UriTemplates, uriTemplateLimits } from '../../mcp/uri-template.js'
import type { LogSink } from '../../runtime/runtime.js'
import { type CatalogView, type Naming, shownName } from './catalog-view.js'
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
  readonly byPublicName: ReadonlyMap<string, Target>
  /** By the server's own name; undefined where several have it. */
  readonly byOwnName: ReadonlyMap<string, Target | undefined>
  /** Of resources: the addresses of a server that clients see otherwise, since an earlier server lists them too. */
  readonly apart: ReadonlyMap<CallTarget, ApartUris>
}

/** The lists and names of some lanes. */
export class Catalog {
  readonly #lanes: readonly CallTarget[]
  readonly #view: CatalogView
  readonly #log: LogSink
  readonly #indexes = new Map<ListKind, Index>()
  readonly #next: () => number
  readonly #hasTasks: boolean
  /** The number of the current state of each list; a cursor names it. */
  readonly #generations = new Map<ListKind, number>()
  readonly #reported: ReportedNames
  /** Read when a URI is first matched with them. */
  #templates: UriTemplates<Target> | undefined

  /** `next` numbers the states of its lists; `hasTasks` says whether clients can call tools as tasks. */
  constructor(
    lanes: readonly CallTarget[],
    view: CatalogView,
    log: LogSink,
    next: () => number,
    hasTasks: boolean,
    reported: ReportedNames = new ReportedNames(),
  ) {
    this.#lanes = lanes
    this.#view = view
    this.#hasTasks = hasTasks
    this.#log = log
    this.#next = next
    this.#reported = reported
  }

  /** The lists of some server have changed. */
  invalidate(kinds: readonly ListKind[]): void {
    for (const kind of kinds) {
      this.#generations.delete(kind)
      this.#indexes.delete(kind)
    }
    if (kinds.includes('templates')) this.#templates = undefined
  }

  /** Drops indexes of lists that changed while no client was attached. */
  catchUp(): void {
    for (const [kind, { sources }] of this.#indexes) {
      const isFresh = this.#lanes.every((lane, at) => lane.view.items(kind) === sources[at])
      if (!isFresh) this.invalidate([kind])
    }
  }

  /** The list as the client sees it now, in an array that does not change. */
  shown(kind: ListKind): readonly Target[] {
    return this.#index(kind).targets
  }

  /** The item with this public name, or with this own name where only one server has it; listed or not. */
  named(kind: 'tools' | 'prompts', name: string): Target | undefined {
    const index = this.#indexes.get(kind) ?? this.#build(kind)
    return index.byPublicName.get(name) ?? index.byOwnName.get(name)
  }

  /** The lane that lists this resource, else the one whose template fits it best. */
  resource(uri: string): CallTarget | undefined {
    const { byPublicName } = this.#index('resources')
    return byPublicName.get(uri)?.lane ?? this.#byTemplate(uri)
  }

  /** The edit from the address of a resource, which stands at `span`, to the one that its server knows. */
  uriEdits(uri: string, span: Span | undefined): readonly Edit[] {
    const target = this.#index('resources').byPublicName.get(uri)
    if (span === undefined || target === undefined || target.publicName === target.item.key) return NO_EDITS
    return [{ start: span.start, end: span.end, bytes: target.ownKey, why: 'uri' }]
  }

  /** The addresses of this server that clients see otherwise. */
  apartUris(lane: CallTarget): ApartUris | undefined {
    return this.#lanes.length === 1 ? undefined : this.#index('resources').apart.get(lane)
  }

  /** The lanes that may have a resource which none lists and no template fits. */
  unlisted(uri: string): CallTarget[] {
    return this.#lanes.filter((lane) => hasResources(lane) && this.#view.hasUri(lane.config, uri))
  }

  /** Whether a name reads as one of this server's, for servers whose names are not known. */
  mayHave({ config }: CallTarget, name: string): boolean {
    const { prefix, whole } = this.#view.naming(config)
    return !prefix || name.startsWith(`${config.name}__`) || whole?.has(name) === true
  }

  /** Whether a name begins with the name of a server that prefixes its names. */
  hasPrefix(name: string): boolean {
    return this.#lanes.some((lane) => this.#view.naming(lane.config).prefix && this.mayHave(lane, name))
  }

  /** Edits of the arguments of a call of this tool. */
  callEdits(call: Call, { lane, item }: Target): readonly Edit[] {
    return this.#view.callEdits(lane.config, item, call)
  }

  /** The lane that lists this template, or the resource of this URI. */
  reference(uri: string): CallTarget | undefined {
    return this.#index('templates').byPublicName.get(uri)?.lane ?? this.resource(uri)
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
    const { targets } = this.#index(kind)
    const from = cursor === undefined ? 0 : this.#offsetOf(kind, cursor, targets.length)
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
    return listResult(kind, items, next < targets.length ? `${this.#generationOf(kind)}.${next}` : undefined)
  }

  #generationOf(kind: ListKind): number {
    const known = this.#generations.get(kind)
    if (known !== undefined) return known
    const generation = this.#next()
    this.#generations.set(kind, generation)
    return generation
  }

  #offsetOf(kind: ListKind, cursor: string, length: number): number | undefined {
    const [generation, offset] = cursor.split('.')
    const at = Number(offset)
    const isOurs =
      generation === String(this.#generations.get(kind)) && Number.isInteger(at) && at > 0 && at < length
    return isOurs ? at : undefined
  }

  #byTemplate(uri: string): CallTarget | undefined {
    this.#templates ??= this.#readTemplates(this.#index('templates').targets)
    const lane = this.#templates.match(uri)?.lane
    return lane !== undefined && this.#view.hasUri(lane.config, uri) ? lane : undefined
  }

  #readTemplates(targets: readonly Target[]): UriTemplates<Target> {
    const templates = new UriTemplates(targets, ({ item }) => item.key)
    if (templates.isCut) {
      const message = `only the first ${uriTemplateLimits.listLengthMax} characters of resource templates are matched with URIs`
      this.#log({ level: 'warn', message })
    }
    return templates
  }

  #index(kind: ListKind): Index {
    return this.#indexes.get(kind) ?? this.#build(kind)
  }

  #build(kind: ListKind): Index {
    const all = isNamed(kind) ? this.#namedTargets(kind) : this.#plainTargets(kind)
    const isListed = ({ item, lane }: Target): boolean =>
      item.withheld === undefined && (!item.needsTask || (this.#hasTasks && offersTasks(lane)))
    const targets = all.filter(isListed)
    const byPublicName = new Map<string, Target>()
    const byOwnName = new Map<string, Target | undefined>()
    // An item that is not listed is found by its name, so that the error can say why; it takes no name from a listed one.
    for (const target of [...targets, ...all.filter((each) => !isListed(each))]) {
      const { publicName, item } = target
      if (!byPublicName.has(publicName)) byPublicName.set(publicName, target)
      // The first server in configuration order has a resource; a bare tool name must be the only one.
      if (!byOwnName.has(item.key)) byOwnName.set(item.key, target)
      else if (isNamed(kind) && isListed(target)) byOwnName.set(item.key, undefined)
    }
    if (kind === 'tools') addOlderNames(targets, byOwnName)
    const sources = this.#lanes.map((lane) => lane.view.items(kind))
    const index = { sources, targets, byPublicName, byOwnName, apart: apartIn(targets, kind) }
    this.#indexes.set(kind, index)
    return index
  }

  #namedTargets(kind: 'tools' | 'prompts'): Target[] {
    const shown = this.#lanes.map((lane) => ({
      lane,
      naming: this.#view.naming(lane.config),
      items: withoutRepeats(this.#items(lane, kind)),
    }))
    const resolved = resolveNames(
      shown.map(({ lane, naming: { prefix, rename, whole }, items }) => ({
        service: lane.config.name,
        prefix,
        rename: kind === 'tools' ? rename : new Map(),
        wholeName: kind === 'tools' && whole !== undefined ? (own) => whole.of(own) : undefined,
        // An item that no client gets takes no name from another one.
        names: items.filter(({ withheld }) => withheld === undefined).map((item) => item.key),
      })),
    )
    for (const collision of resolved.collisions) this.#logCollision(collision)
    return shown.flatMap(({ lane, naming, items }, at) => {
      const mark = kind === 'tools' ? markOf(lane, naming) : undefined
      return items.map((item) =>
        target(
          lane,
          item,
          resolved.publicNames[at]?.get(item.key) ?? shownName(lane.config.name, naming, kind, item.key),
          mark,
        ),
      )
    })
  }

  #items(lane: CallTarget, kind: ListKind): ListItem[] {
    return lane.view.items(kind).flatMap((item) => this.#view.item(lane.config, kind, item) ?? [])
  }

  #logCollision({ kind, name, earlier, later }: NameCollision): void {
    const what = kind === 'same' ? 'the name' : 'but for case, the name'
    const message = `'${later.own}' has ${what} of '${earlier.own}' of '${earlier.service}' (${name})`
    if (this.#reported.isNew(`${later.service} ${message}`))
      this.#log({ level: 'warn', service: later.service, message })
  }

  /** Resources keep their URIs; of two servers that list one, the first in configuration order has it, unless both are kept apart. */
  #plainTargets(kind: ListKind): Target[] {
    const targets = new Map<string, Target>()
    for (const lane of this.#lanes) {
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
    if (first === undefined || !this.#reported.isNew(`${service} ${kind}`)) return
    const more = others.length === 0 ? '' : ` and ${others.length} more`
    const message = `${kind} are listed before, by this or another server: ${quote(first)}${more}`
    this.#log({ level: 'warn', service, message })
  }
}

/** Most warnings about names that are remembered as logged. */
const REPORTED_MAX = 1024

/** Which warnings about names were logged: an index is built again for each change of a list and for many clients. */
class ReportedNames {
  readonly #reported = new Set<string>()

  /** Whether this was not logged yet; beyond `REPORTED_MAX` nothing is new. */
  isNew(what: string): boolean {
    if (this.#reported.has(what) || this.#reported.size >= REPORTED_MAX) return false
    this.#reported.add(what)
    return true
  }
}

/**
 * The catalogs of a proxy's clients. Those that share all of their servers see the same names, so they share the tables of
 * them too: a session that only makes one call would spend more on these than on the call.
 */
export class Catalogs {
  readonly #log: LogSink
  readonly #next = (): number => ++this.#last
  /** Counts the states of all catalogs: a cursor of one is none of another. */
  #last = 0
  readonly #reported = new ReportedNames()
  #shared: readonly SharedCatalog[] = []

  constructor(log: LogSink) {
    this.#log = log
  }

  /** The catalog of a client with these lanes and this view; `hasTasks` says whether it can call tools as tasks. */
  of(lanes: readonly Lane[], view: CatalogView, hasTasks: boolean): Catalog {
    if (!lanes.every((lane) => lane.shared)) return this.#make(lanes, view, hasTasks)
    const isLikeIt = (each: SharedCatalog): boolean => each.view === view && each.hasTasks === hasTasks
    const known = this.#shared.find(isLikeIt)
    if (known !== undefined && isSame(known.lanes, lanes)) {
      known.catalog.catchUp()
      return known.catalog
    }
    const catalog = this.#make(lanes, view, hasTasks)
    const others = this.#shared.filter((each) => !isLikeIt(each))
    this.#shared = [...others, { lanes, view, hasTasks, catalog }]
    return catalog
  }

  /** The configuration of the servers has changed. */
  renew(): void {
    this.#shared = []
  }

  #make(lanes: readonly Lane[], view: CatalogView, hasTasks: boolean): Catalog {
    return new Catalog(lanes, view, this.#log, this.#next, hasTasks, this.#reported)
  }
}

/** The tables of all clients that have these lanes and this view. */
interface SharedCatalog {
  readonly lanes: readonly Lane[]
  readonly view: CatalogView
  readonly hasTasks: boolean
  readonly catalog: Catalog
}

function isSame(lanes: readonly Lane[], others: readonly Lane[]): boolean {
  return lanes.length === others.length && lanes.every((lane, at) => lane === others[at])
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

/** The addresses that are not the servers' own, by their servers. */
function apartIn(targets: readonly Target[], kind: ListKind): ReadonlyMap<CallTarget, ApartUris> {
  const apart = new Map<CallTarget, Map<string, string>>()
  if (kind !== 'resources') return apart
  for (const { lane, item, publicName } of targets) {
    if (publicName === item.key) continue
    const uris = apart.get(lane) ?? new Map<string, string>()
    apart.set(lane, uris.set(item.key, publicName))
  }
  return apart
}

/** A name that an item has today is not an older name of another item. */
function addOlderNames(targets: readonly Target[], byOwnName: Map<string, Target | undefined>): void {
  for (const found of targets)
    for (const [older, own] of found.lane.config.olderNames ?? [])
      if (own === found.item.key && !byOwnName.has(older)) byOwnName.set(older, found)
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

function markOf({ config }: CallTarget, { describe }: Naming): string | undefined {
  return describe ? `[${config.name}] ` : undefined
}
