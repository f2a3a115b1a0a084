// The catalog: public names, and for each the lane and the server's own name.
//
// A public name maps back through these tables and never by splitting it.

import { offersTasks } from './tasks.js'
import type { Line } from '../../jsonrpc/line.js'
import { type Edit, NO_EDITS } from '../../jsonrpc/splice.js'
import type { Span } from '../../jsonrpc/scan.js'
import { quote } from '../../jsonrpc/text.js'
import { type ListItem, itemEdits, listResult } from '../../mcp/lists.js'
import type { CallTimes } from '../../mcp/call-deadline.js'
import type { Call } from '../../mcp/call.js'
import type { ListKind } from '../../mcp/methods.js'
import type { Revision } from '../../mcp/revisions.js'
import { type NameCollision, resolveNames } from '../../mcp/names.js'
import { UriTemplates, uriTemplateLimits } from '../../mcp/uri-template.js'
import type { LogSink } from '../../runtime/runtime.js'
import type { RoutedClient } from './routed-client.js'
import type { ServerConfig, ToolFilter } from '../../upstream/contracts/server-config.js'
import type { CallTarget, Lane } from '../../upstream/contracts/upstream.js'

/** One listed item and where it is. */
export interface Target {
  readonly lane: CallTarget
  readonly item: ListItem
  readonly publicName: string
  /** What its description begins with. */
  readonly mark: string | undefined
  /** The own name as the server wrote it, quotes included. */
  readonly ownKey: Uint8Array
  /** Undefined where the times of the server hold. */
  readonly times: CallTimes | undefined
}

/** What a call is renamed by, from the public name, which stands at `span`, to the one that its server knows. */
export function nameEdits(span: Span | undefined, name: string, { item, ownKey }: Target): readonly Edit[] {
  if (span === undefined || name === item.key) return NO_EDITS
  return [{ start: span.start, end: span.end, bytes: ownKey, why: 'name' }]
}

/** Who gets a list. */
interface ListReader {
  readonly form: Revision['form']
  splice(line: Line, edits: readonly Edit[]): Uint8Array
}

/** Who gets the list that this call asks for. */
export function readerOf(call: Call, client: Pick<RoutedClient, 'splice'>): ListReader {
  return { form: call.context.revision.form, splice: (line, edits) => client.splice(call, line, edits) }
}

interface Index {
  /** What the lanes listed when it was made. */
  readonly sources: readonly (readonly ListItem[])[]
  /** Those that are listed, in configuration order, then the server's own. */
  readonly targets: readonly Target[]
  readonly byPublicName: ReadonlyMap<string, Target>
  /** By the server's own name; undefined where several have it. */
  readonly byOwnName: ReadonlyMap<string, Target | undefined>
}

/** The lists and names of some lanes. */
export class Catalog {
  readonly #lanes: readonly CallTarget[]
  readonly #log: LogSink
  readonly #indexes = new Map<ListKind, Index>()
  readonly #next: () => number
  readonly #hasTasks: boolean
  /** The number of each list as it is now; a cursor names it. */
  readonly #generations = new Map<ListKind, number>()
  readonly #reported: ReportedNames
  /** Read when a URI is first matched with them. */
  #templates: UriTemplates<Target> | undefined

  /** `next` numbers the states of its lists; `hasTasks` says whether clients can call tools as tasks. */
  constructor(
    lanes: readonly CallTarget[],
    log: LogSink,
    next: () => number,
    hasTasks: boolean,
    reported: ReportedNames = new ReportedNames(),
  ) {
    this.#lanes = lanes
    this.#hasTasks = hasTasks
    this.#log = log
    this.#next = next
    this.#reported = reported
  }

  /** What servers list has changed. */
  invalidate(kinds: readonly ListKind[]): void {
    for (const kind of kinds) {
      this.#generations.delete(kind)
      this.#indexes.delete(kind)
    }
    if (kinds.includes('templates')) this.#templates = undefined
  }

  /** While no client was there, nobody was told of changes. */
  catchUp(): void {
    for (const [kind, { sources }] of this.#indexes) {
      const isFresh = this.#lanes.every((lane, at) => lane.view.items(kind) === sources[at])
      if (!isFresh) this.invalidate([kind])
    }
  }

  /** What the client is shown now, as it stays when the lists change. */
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
    return this.#index('resources').byOwnName.get(uri)?.lane ?? this.#byTemplate(uri)
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
      const isWrapped = reader.form === 'bare' && lane.view.facts?.revision.form === 'typed'
      const spliced = reader.splice(item.line, itemEdits(item, publicName, mark, isWrapped))
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
    return this.#templates.match(uri)?.lane
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
    const isNamed = kind === 'tools' || kind === 'prompts'
    const all = isNamed ? this.#namedTargets(kind) : this.#plainTargets(kind)
    const isListed = ({ item, lane }: Target): boolean =>
      !item.needsTask || (this.#hasTasks && offersTasks(lane))
    const targets = all.filter(isListed)
    const byPublicName = new Map<string, Target>()
    const byOwnName = new Map<string, Target | undefined>()
    // What is not listed is known by its name, to say why; it takes none from what is.
    for (const target of [...targets, ...all.filter((each) => !isListed(each))]) {
      const { publicName, item } = target
      if (!byPublicName.has(publicName)) byPublicName.set(publicName, target)
      // The first server in configuration order has a resource; a bare tool name must be the only one.
      if (!byOwnName.has(item.key)) byOwnName.set(item.key, target)
      else if (isNamed && isListed(target)) byOwnName.set(item.key, undefined)
    }
    if (kind === 'tools') addOlderNames(targets, byOwnName)
    const sources = this.#lanes.map((lane) => lane.view.items(kind))
    const index = { sources, targets, byPublicName, byOwnName }
    this.#indexes.set(kind, index)
    return index
  }

  #namedTargets(kind: 'tools' | 'prompts'): Target[] {
    const shown = this.#lanes.map((lane) => ({ lane, items: shownItems(lane, kind) }))
    const resolved = resolveNames(
      shown.map(({ lane: { config }, items }) => ({
        service: config.name,
        prefix: config.prefix,
        rename: kind === 'tools' ? config.tools.rename : new Map(),
        names: items.map((item) => item.key),
      })),
    )
    for (const collision of resolved.collisions) this.#logCollision(collision)
    return shown.flatMap(({ lane, items }, at) => {
      const mark = kind === 'tools' ? markOf(lane.config) : undefined
      return items.map((item) =>
        target(lane, item, resolved.publicNames[at]?.get(item.key) ?? item.key, mark),
      )
    })
  }

  #logCollision({ kind, name, earlier, later }: NameCollision): void {
    const what = kind === 'same' ? 'the name' : 'but for case, the name'
    const message = `'${later.own}' has ${what} of '${earlier.own}' of '${earlier.service}' (${name})`
    if (this.#reported.isNew(`${later.service} ${message}`))
      this.#log({ level: 'warn', service: later.service, message })
  }

  /** Resources keep their URIs; of two servers that list one, the first in configuration order has it. */
  #plainTargets(kind: ListKind): Target[] {
    const targets = new Map<string, Target>()
    for (const lane of this.#lanes) {
      const repeated: string[] = []
      for (const item of lane.view.items(kind)) {
        if (targets.has(item.key)) repeated.push(item.key)
        else targets.set(item.key, target(lane, item, item.key))
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
  /** Of those who can call tools as tasks, and of the others. */
  readonly #shared = new Map<boolean, { readonly lanes: readonly Lane[]; readonly catalog: Catalog }>()

  constructor(log: LogSink) {
    this.#log = log
  }

  /** What a client with these lanes can call. */
  of(lanes: readonly Lane[], hasTasks: boolean): Catalog {
    if (!lanes.every((lane) => lane.shared)) return this.#make(lanes, hasTasks)
    const known = this.#shared.get(hasTasks)
    if (known !== undefined && isSame(known.lanes, lanes)) {
      known.catalog.catchUp()
      return known.catalog
    }
    const catalog = this.#make(lanes, hasTasks)
    this.#shared.set(hasTasks, { lanes, catalog })
    return catalog
  }

  /** What is shown of the servers may differ from now on. */
  renew(): void {
    this.#shared.clear()
  }

  #make(lanes: readonly Lane[], hasTasks: boolean): Catalog {
    return new Catalog(lanes, this.#log, this.#next, hasTasks, this.#reported)
  }
}

function isSame(lanes: readonly Lane[], others: readonly Lane[]): boolean {
  return lanes.length === others.length && lanes.every((lane, at) => lane === others[at])
}

function target(lane: CallTarget, item: ListItem, publicName: string, mark?: string): Target {
  const ownKey = item.line.subarray(item.keySpan.start, item.keySpan.end)
  return { lane, item, publicName, mark, ownKey, times: lane.config.toolTimes.get(item.key) }
}

/** A name that something has today is nobody's older name. */
function addOlderNames(targets: readonly Target[], byOwnName: Map<string, Target | undefined>): void {
  for (const found of targets)
    for (const [older, own] of found.lane.config.olderNames ?? [])
      if (own === found.item.key && !byOwnName.has(older)) byOwnName.set(older, found)
}

/** Without what the configuration hides, and each name once. */
function shownItems(lane: CallTarget, kind: 'tools' | 'prompts'): ListItem[] {
  const met = new Set<string>()
  return lane.view.items(kind).filter((item) => {
    if (met.has(item.key) || (kind === 'tools' && !isShown(lane.config.tools, item.key))) return false
    met.add(item.key)
    return true
  })
}

function isShown(filter: ToolFilter, name: string): boolean {
  return (filter.allow === undefined || filter.allow.includes(name)) && !filter.deny.includes(name)
}

function markOf(config: ServerConfig): string | undefined {
  return config.describe ? `[${config.name}] ` : undefined
}
