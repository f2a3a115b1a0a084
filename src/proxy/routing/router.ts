// Routes each call of one client to the lane of the server that answers it.

import type { ArgumentChecks } from './argument-checks.js'
import { type Catalog, type Catalogs, nameEdits, type Target } from './catalog.js'
import { TaskTable } from './client-tasks.js'
import { fieldFault } from '../../mcp/http-headers.js'
import { ListChanges, type ListsReader } from './list-changes.js'
import { ListWaits, type Wanted } from './list-waits.js'
import { type CatalogView, soleServer } from './views.js'
import { describeServers, problemOf } from './description.js'
import type { SessionProcess } from './session-status.js'
import { bothEdits, type Edit, NO_EDITS } from '../../jsonrpc/splice.js'
import { stringAt } from '../../jsonrpc/text.js'
import { nearest } from '../../text/nearest.js'
import type { ErrorBody } from '../../jsonrpc/build.js'
import type { NotificationFrame } from '../../jsonrpc/frame.js'
import type { Call, CallGate, Outcome, ReturnedInput, ClientPort } from '../../calls/call.js'
import {
  inputRefused,
  invalidParams,
  methodNotFound,
  missingParameter,
  noUpstream,
  numberOfError,
  promptNotFound,
  resourceNotFound,
  saysResourceNotFound,
  stateUnknown,
  toolNotFound,
  upstreamFailed,
} from '../../mcp/error-codes.js'
import { mayHaveMethods, presumedCapabilities } from '../../mcp/capabilities.js'
import type { ServerDescription } from '../../mcp/eras/client-leg.js'
import { listKinds } from '../../mcp/list-items.js'
import type { ListKind } from '../../mcp/methods.js'
import type { Limits } from '../../limits.js'
import type { Runtime } from '../../runtime/runtime.js'
import type { CallTarget, Lane, Upstream } from '../../upstream/contracts/upstream.js'
import { membersAt } from '../../jsonrpc/members.js'

/** Decides whether a tool call may go to its server, by limits and confirmations. Every route to a tool passes it. */
export interface CallPolicy {
  /**
   * Calls `go`, now or later, if the call may go to its server. Otherwise the policy settles the call.
   *
   * `edits` are the call's edits so far. After a reload replaced the server, the call is admitted once more.
   */
  admit(call: Call, target: Target, edits: readonly Edit[], go: () => void): void
  /** Called when the server wants the same request again, with answers of the client. */
  continues(call: Call): void
}

export interface RoutingContext {
  readonly checks: ArgumentChecks
  /** The policy in force; undefined unless the configuration has limits or confirmations. */
  policy(): CallPolicy | undefined
  readonly gate: CallGate | undefined
  readonly runtime: Runtime
  keepLists(): void
  /** The longest time that the answer to `initialize` waits for servers. */
  initializeGraceMs(): number
  /** How long lists wait for servers that start, if the configuration sets it. */
  startupGraceMs(): number | undefined
  readonly limits: Pick<Limits, 'session'>
}

export interface RoutedClient extends ClientPort, ListsReader {
  /** The tasks of the client's principal; absent for a client with a session. */
  readonly tasks?: TaskTable
  readonly view: CatalogView
}

export class Router {
  /** Resolves when the proxy can answer `initialize`; undefined if no server has to be waited for. */
  readonly settled: Promise<unknown> | undefined
  /** The client wants log messages of this level and above. */
  logLevel: string | undefined
  lanes: readonly Lane[]
  readonly #client: RoutedClient
  readonly #context: RoutingContext
  readonly #catalogs: Catalogs
  readonly #onLeave: () => void
  readonly #tasks: TaskTable
  readonly #changes: ListChanges
  readonly #waits: ListWaits
  #catalog: Catalog
  /** All lanes of the client, also lanes for the next exchange, and lanes on which only earlier calls still run. */
  readonly #entered = new Map<Upstream, Lane>()
  /** Whether servers have left the configuration. A state that does not name its server may belong to one of them. */
  #hasLostSome = false

  constructor(
    client: RoutedClient,
    context: RoutingContext,
    upstreams: readonly Upstream[],
    catalogs: Catalogs,
    onLeave: () => void,
  ) {
    this.#client = client
    this.#context = context
    this.#catalogs = catalogs
    this.#onLeave = onLeave
    this.lanes = this.#enter(upstreams)
    // A client that calls before `initialize` keeps the profile that it had then.
    const hasTasks = client.profile.hasTasks === true
    this.#tasks = client.tasks ?? new TaskTable(context.limits.session, hasTasks ? 'session' : 'nobody')
    this.#catalog = catalogs.of(this.lanes, client.view, hasTasks)
    this.#changes = new ListChanges(client, this, context)
    this.#waits = new ListWaits(this, client, context)
    const isRemembered = this.lanes.some(({ view }) => view.before.kind !== 'nothing')
    this.settled = isRemembered ? undefined : this.#waits.opened(context.initializeGraceMs())
    const coming = this.#waits.quiet()
    if (coming === undefined) return
    // The client gets one notification for all servers that are starting now.
    this.#changes.pause()
    void coming.then(() => this.notifyChanges())
  }

  get services(): readonly string[] {
    return this.lanes.map(({ config }) => config.name)
  }

  get processes(): SessionProcess[] {
    // In configuration order, followed by the lanes that a reload adds or removes.
    const own = [...new Set([...this.lanes, ...this.#entered.values()])].filter(({ isShared }) => !isShared)
    return own.flatMap(({ config, pids }) => pids.map((pid) => ({ server: config.name, pid })))
  }

  describe(): ServerDescription {
    const { instructionsLengthMax } = this.#context.limits.session
    const options = { instructionsLengthMax, hasTasks: this.#catalog.hasTasks }
    return describeServers(this.lanes, this.#client.view, this.#client.profile.capabilities, options)
  }

  shown(kind: ListKind): readonly Target[] {
    return this.#catalog.shown(kind)
  }

  offers(kind: ListKind): boolean {
    const feature = kind === 'templates' ? 'resources' : kind
    return this.lanes.some(({ view }) => (view.facts?.capabilities ?? presumedCapabilities)[feature])
  }

  /** Called when the lists of a server have changed; without kinds, for other news that calls may wait for. */
  onListsChanged(kinds: readonly ListKind[]): void {
    this.#changes.changed(kinds)
    this.#waits.runDue()
    if (this.#client.isReady) this.#prepareChecks()
  }

  clientIsReady(): void {
    this.#changes.notifySoon()
    this.#prepareChecks()
  }

  /** Most clients call a tool soon after they see one. */
  #prepareChecks(): void {
    const { checks, runtime } = this.#context
    const isChecked = this.lanes.some(
      ({ config, view }) => config.argumentChecks === 'on' && view.items('tools').length > 0,
    )
    if (isChecked) checks.prepare(runtime)
  }

  setLogLevel(level: string): void {
    this.logLevel = level
    for (const lane of this.#entered.values()) lane.setLogLevel(this.#client, level)
  }

  rootsChanged(frame: NotificationFrame): void {
    for (const lane of this.#entered.values()) lane.rootsChanged(this.#client, frame)
  }

  setReading(on: boolean): void {
    for (const lane of this.#entered.values()) lane.setReading(this.#client, on)
  }

  /** Resolves when the servers that only this client used have ended; undefined if there were none. */
  leave(): Promise<unknown> | undefined {
    this.#onLeave()
    const leaving = [...this.#entered.values()].flatMap((lane) => lane.leave(this.#client) ?? [])
    this.#waits.close()
    return leaving.length === 0 ? undefined : Promise.all(leaving)
  }

  /** Opens the lanes that the client will reach, and resolves when they are listed. `exchange` changes the others. */
  async prepare(upstreams: readonly Upstream[]): Promise<void> {
    this.#changes.pause()
    const entered = this.#enter(upstreams)
    const coming = entered.filter((lane) => !this.lanes.includes(lane))
    // The client has asked for these lists, so a lazy server starts for them.
    for (const { view } of coming) view.want(this.#changes.shownKinds, 'list')
    await this.#waits.allListed(coming)
  }

  /** Switches the client to these servers, and moves its log level and subscriptions to them. */
  exchange(upstreams: readonly Upstream[]): void {
    const before = this.lanes
    this.lanes = this.#enter(upstreams)
    this.#catalog = this.#catalogs.of(this.lanes, this.#client.view, this.#catalog.hasTasks)
    const left = before.filter((lane) => !this.lanes.includes(lane))
    // The new rules of a view may hide resources of servers that stay.
    for (const lane of this.#client.view.name === '' ? left : before)
      for (const uri of lane.takeSubscriptions(this.#client)) this.#follow(uri, lane.config.name)
    this.#hasLostSome ||= left.some(({ config: { name } }) => !this.services.includes(name))
    // Calls that have not begun on a removed server go to its successor, or fail.
    for (const call of left.flatMap((lane) => lane.release(this.#client))) this.#reroute(call)
    this.#waits.runDue()
    for (const upstream of upstreams) if (!this.#client.view.hasServer(upstream.config)) this.forget(upstream)
  }

  /** Ends one `prepare`. The client gets a notification for each list that differs from the list that it has. */
  notifyChanges(): void {
    this.#changes.resume()
    this.#client.listsChanged(listKinds)
  }

  /** Called when the server is gone and no call runs there any more. */
  forget(upstream: Upstream): void {
    const lane = this.#entered.get(upstream)
    this.#entered.delete(upstream)
    void lane?.leave(this.#client)
  }

  /** Routes a call. The lane that gets the call settles it, or the router does. */
  route(call: Call): void {
    const refused = this.#context.gate?.refusal(call.frame.method)
    if (refused !== undefined) return call.fail(refused)
    const { route } = call.row
    switch (route.to) {
      case 'name':
        return this.#byName(call, route.list)
      case 'uri':
        return this.#byUri(call)
      case 'reference':
        return this.#byReference(call)
      case 'merge':
        return this.#waits.whenListable(call, route.list, () => this.#list(call, route.list))
      case 'task':
        return this.#tasks.about(call, this.lanes, this.#whole)
      case 'tasks':
        return this.#tasks.list(call, this.#whole)
      case 'extension':
        return this.#ofExtension(call)
      case 'proxy':
        call.settle({ kind: 'result', result: '{}' })
    }
  }

  /** Passes the call to a server that announces extensions: the server knows whether it has the method. */
  #ofExtension(call: Call): void {
    const lane = soleServer(this.lanes, this.#client.view)
    const refused = methodNotFound(call.frame.method)
    if (lane === undefined) return call.fail(refused)
    const announces = (): boolean =>
      [...(lane.view.facts?.capabilities.extensions.keys() ?? [])].some(mayHaveMethods)
    const pass = (): void => (announces() ? this.#toLane(call, lane, NO_EDITS) : call.fail(refused))
    if (lane.view.facts === undefined) this.#waits.whenListed(call, ['tools'], pass)
    else pass()
  }

  /** Handles a call whose server was replaced. Answers for the old server must not reach another one. */
  #reroute(call: Call): void {
    const { pinnedTo } = call
    if (pinnedTo === undefined) this.route(call)
    else call.failTool(inputRefused(pinnedTo, 'another server has taken its place since'))
  }

  /** The one server, if the client opened it itself and sees all of it. */
  get #whole(): CallTarget | undefined {
    return this.#client.opening === undefined ? undefined : this.lanes[0]
  }

  #byName(call: Call, kind: 'tools' | 'prompts'): void {
    const name = call.frame.params.members.string('name')
    if (name === undefined) return call.fail(missingParameter('name'))
    this.#named(call, kind, name, (target) => this.#send(call, kind, target, name))
  }

  /** Calls `use` with the item of this name, now or when the servers that may have it have listed. */
  #named(call: Call, kind: 'tools' | 'prompts', name: string, use: (target: Target) => void): void {
    // Earlier calls continue before this one.
    this.#waits.runDue()
    const target = this.#there(kind, name)
    if (target !== undefined) return use(target)
    const awaited = this.#candidates(kind, name).lanes
    const wanted: Wanted = {
      kind,
      name,
      isListed: () => this.#there(kind, name) !== undefined,
      candidates: () => this.#candidates(kind, name),
    }
    this.#waits.whenNamed(call, wanted, () => {
      const late = this.#catalog.named(kind, name)
      const lanes = late === undefined ? this.#candidates(kind, name).lanes : [late.lane]
      // A reload may have added a lane that has listed nothing yet.
      const isNew = lanes.some((lane) => !lane.listed.has(kind) && !awaited.includes(lane))
      if (isNew) this.#named(call, kind, name, use)
      else if (late !== undefined) use(late)
      else failUnknownName(call, { kind, name }, this.lanes, this.#catalog)
    })
  }

  /** Undefined also for an item that is only known from an earlier start: it may be gone, or need other arguments. */
  #there(kind: 'tools' | 'prompts', name: string): Target | undefined {
    const target = this.#catalog.named(kind, name)
    return target?.lane.listed.has(kind) === true ? target : undefined
  }

  /** The servers that may have an unlisted name. A server that had it at an earlier start is the only candidate. */
  #candidates(kind: 'tools' | 'prompts', name: string): ReturnType<Wanted['candidates']> {
    const kept = this.#catalog.named(kind, name)?.lane
    if (kept?.listed.has(kind) === false) return { lanes: [kept], isClaimed: true }
    const claims = ({ config }: CallTarget): boolean | undefined => this.#client.view.claims(config, name)
    return {
      lanes: this.lanes.filter((lane) => claims(lane) !== false),
      isClaimed: this.lanes.some((lane) => claims(lane) === true),
    }
  }

  #send(call: Call, kind: 'tools' | 'prompts', target: Target, name: string): void {
    call.service = target.lane.config.name
    call.item = target.item.key
    call.apartUris = this.#catalog.apartUris(target.lane)
    const withheld = refusalOf(target)
    if (withheld !== undefined) return call.fail(withheld)
    const { members } = call.frame.params
    let edits = nameEdits(members.span('name'), name, target)
    if (call.returned !== undefined) {
      if (!mayHaveWritten(target.lane, call)) return call.fail(stateUnknown('other-server'))
      edits = bothEdits(edits, call.returned.edits)
    }
    if (kind === 'prompts') return target.lane.call(call, edits)
    const begun = this.#tasks.begin(call, target, name)
    if ('code' in begun) return call.fail(begun)
    edits = bothEdits(edits, begun)
    const field = call.context.revision.era === 'stateless' ? call.reply?.field : undefined
    const fault = field && fieldFault(call.frame, field, target.item)
    if (fault !== undefined) return call.fail(fault)
    edits = bothEdits(edits, this.#client.view.callEdits(target.lane.config, target.item, call))
    call.isWrapped = target.item.wrappedSpan !== undefined
    if (!this.#context.checks.fits(call, target)) return
    const policy = this.#context.policy()
    if (policy === undefined) target.lane.call(call, edits)
    else policy.admit(call, target, edits, () => this.#admitted(call, target, edits))
  }

  /** While a person was asked, the tool may have changed, or another server may have replaced this one. */
  #admitted(call: Call, target: Target, edits: readonly Edit[]): void {
    const withheld = refusalOf(this.#catalog.named('tools', target.publicName) ?? target)
    if (withheld !== undefined) call.fail(withheld)
    else if (target.lane.isRetired) this.#reroute(call)
    else target.lane.call(call, edits)
  }

  #toLane(call: Call, lane: CallTarget, edits: readonly Edit[]): void {
    call.service = lane.config.name
    call.apartUris = this.#catalog.apartUris(lane)
    lane.call(call, edits)
  }

  #byUri(call: Call): void {
    const uri = call.frame.params.members.string('uri')
    if (uri === undefined) return call.fail(missingParameter('uri'))
    const { returned } = call
    const known = returned === undefined ? this.#catalog.resource(uri) : undefined
    if (known !== undefined) return this.#read(call, uri, known)
    this.#waits.whenListed(call, ['resources', 'templates'], () => {
      const listed = this.#catalog.resource(uri)
      if (returned !== undefined) this.#retryRead(call, uri, returned, listed)
      else if (listed !== undefined) this.#read(call, uri, listed)
      else this.#askInTurn(call, uri, this.#catalog.unlisted(uri))
    })
  }

  #read(call: Call, uri: string, lane: CallTarget, more: readonly Edit[] = NO_EDITS): void {
    const edits = this.#catalog.uriEdits(uri, call.frame.params.members.span('uri'))
    this.#toLane(call, lane, bothEdits(edits, more))
  }

  /** Sends answers and a state only to the server that asked. If several servers may have asked, the call fails. */
  #retryRead(
    call: Call,
    uri: string,
    { service, edits }: ReturnedInput,
    listed: CallTarget | undefined,
  ): void {
    const candidates = listed === undefined ? this.#catalog.unlisted(uri) : [listed]
    const [lane, other] = candidates.filter(({ config }) => config.name === (service ?? config.name))
    const isGuess = listed === undefined && service === undefined && this.#hasLostSome
    if (lane === undefined || other !== undefined || isGuess || !mayHaveWritten(lane, call))
      call.fail(stateUnknown('other-server'))
    else this.#read(call, uri, lane, edits)
  }

  /** No server lists the resource and no template fits: asks the servers that may have it one by one. */
  #askInTurn(call: Call, uri: string, [lane, ...rest]: readonly CallTarget[]): void {
    if (lane === undefined) return call.fail(resourceNotFound(uri))
    if (rest.length === 0) return this.#toLane(call, lane, NO_EDITS)
    call.keep()
    call.service = lane.config.name
    call.apartUris = this.#catalog.apartUris(lane)
    const onSettled = (_attempt: Call, outcome: Outcome): void => {
      if (isNotFound(outcome)) this.#askInTurn(call, uri, rest)
      else call.settle(outcome)
    }
    lane.call(call.attempt({ onSettled }), NO_EDITS)
  }

  #byReference(call: Call): void {
    const { line, params } = call.frame
    const ref = membersAt(line, params.members.span('ref'))
    const span = ref?.span('name')
    const [name, uri] = [stringAt(line, span), ref?.string('uri')]
    if (name === undefined)
      return uri === undefined ? call.fail(missingParameter('ref')) : this.#awaitReference(call, uri)
    this.#named(call, 'prompts', name, (target) => {
      const withheld = refusalOf(target)
      if (withheld !== undefined) call.fail(withheld)
      else complete(call, target.lane, nameEdits(span, name, target))
    })
  }

  /** Waits only for the server that has the resource, if the catalog knows it. */
  #awaitReference(call: Call, uri: string): void {
    const known = this.#catalog.reference(uri)
    const then = (): void => {
      const lane = this.#catalog.reference(uri)
      if (lane === undefined) call.fail(invalidParams(`no server has the resource '${uri}'`, { uri }))
      else complete(call, lane, NO_EDITS)
    }
    this.#waits.whenListed(call, ['resources', 'templates'], then, known && (() => [known]))
  }

  #list(call: Call, kind: ListKind): void {
    const span = call.frame.params.members.span('cursor')
    const cursor = stringAt(call.frame.line, span)
    const isBad = span !== undefined && cursor === undefined
    const refusal = refusalOfAll(this.lanes, kind)
    const page =
      refusal !== undefined || isBad
        ? undefined
        : this.#catalog.page(kind, cursor, this.#context.limits.session.listPageBytesMax, call)
    if (page !== undefined) call.settle({ kind: 'result', result: page })
    else call.fail(refusal ?? invalidParams('the cursor is invalid or expired', { parameter: 'cursor' }))
    this.#changes.markShown(kind)
    // A client without a session is never ready, so the checks are prepared here.
    if (kind === 'tools') this.#prepareChecks()
  }

  #enter(upstreams: readonly Upstream[]): Lane[] {
    const seen = upstreams.filter(({ config }) => this.#client.view.hasServer(config))
    return seen.map((upstream) => this.#laneOf(upstream))
  }

  #laneOf(upstream: Upstream): Lane {
    const there = this.#entered.get(upstream)
    if (there !== undefined) return there
    const lane = upstream.attach(this.#client)
    this.#entered.set(upstream, lane)
    if (this.logLevel !== undefined) lane.setLogLevel(this.#client, this.logLevel)
    return lane
  }

  /** A server that replaces another is presumed to have the same resources until it has listed its own. */
  #follow(uri: string, service: string): void {
    const heir = this.lanes.find(({ config }) => config.name === service)
    const lane = heir?.listed.has('resources') === false ? heir : (this.#catalog.resource(uri) ?? heir)
    if (lane !== undefined && this.#client.view.hasUri(uri)) lane.follow(this.#client, uri)
  }
}

/** Whether this server may have written the state that the call returns. */
function mayHaveWritten(lane: CallTarget, { returned }: Call): boolean {
  const service = returned?.service ?? lane.config.name
  return lane.view.facts?.revision.era === 'stateless' && service === lane.config.name
}

/** For a server without completions, the proxy answers with an empty completion. */
function complete(call: Call, lane: CallTarget, edits: readonly Edit[]): void {
  call.service = lane.config.name
  if (lane.view.facts?.capabilities.completions !== false) lane.call(call, edits)
  else call.settle({ kind: 'result', result: '{"completion":{"values":[]}}' })
}

// The errors for servers that are down, and for names that no server has.

/** The error if no server can list, because an empty list would look as if there were no items. */
function refusalOfAll(lanes: readonly CallTarget[], kind: ListKind): ErrorBody | undefined {
  const [only, ...others] = lanes
  if (only === undefined || !lanes.every((lane) => cannotList(lane, kind))) return undefined
  if (others.length > 0 || isStarting(only, kind))
    return noUpstream(lanes.map((lane) => ({ service: lane.config.name, problem: problemOf(lane) })))
  return only.view.failure && unavailable(only)
}

/** The server still starts, but the client's list does not wait for it any longer. */
function isStarting({ view }: CallTarget, kind: ListKind): boolean {
  return !view.isShown(kind) && view.isComing(kind)
}

function cannotList(lane: CallTarget, kind: ListKind): boolean {
  const { failure } = lane.view
  if (failure?.reason === 'changed' || isStarting(lane, kind)) return true
  return !lane.listed.has(kind) && lane.view.items(kind).length === 0 && failure !== undefined
}

/** A server that has never listed is down, even while the proxy starts it again. */
function isDown(lane: CallTarget, kind: ListKind): boolean {
  return !lane.listed.has(kind) || (lane.view.state === 'error' && lane.view.failure?.body !== undefined)
}

function unavailable({ config: { name }, view: { failure } }: CallTarget): ErrorBody {
  if (failure?.body !== undefined) return failure.body
  const why = failure === undefined ? `'${name}' is not available` : `'${name}': ${failure.message}`
  return upstreamFailed(name, failure?.reason === 'timeout' ? 'timeout' : 'unavailable', why)
}

const NEAREST_MAX = 3

/** Fails a call: the server that may have the name is down, or the error suggests similar names of the catalog. */
function failUnknownName(
  call: Call,
  { kind, name }: { readonly kind: 'tools' | 'prompts'; readonly name: string },
  lanes: readonly CallTarget[],
  catalog: Catalog,
): void {
  const down = lanes.find((lane) => isDown(lane, kind) && catalog.view.claims(lane.config, name) !== false)
  if (down !== undefined) {
    call.service = down.config.name
    return call.fail(unavailable(down))
  }
  const names = catalog.shown(kind).map(({ publicName }) => publicName)
  const near = nearest(name, names, NEAREST_MAX)
  call.fail(kind === 'tools' ? toolNotFound(name, near) : promptNotFound(name, near))
}

function refusalOf({ item, lane }: Target): ErrorBody | undefined {
  if (item.withheld === undefined) return undefined
  return upstreamFailed(lane.config.name, 'changed', item.withheld)
}

function isNotFound(outcome: Outcome): boolean {
  if (outcome.kind !== 'answered' || outcome.frame.kind !== 'error') return false
  return saysResourceNotFound(numberOfError(outcome.frame))
}
