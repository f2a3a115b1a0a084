// The plan of an import: the servers that move, their names, and the text of every file afterwards.
//
// Nothing is written here. A server that is not understood stays in its file, and the plan names it.

import { dirname } from 'node:path'
import { resolveConfig } from '../../config/config.js'
import type { Environment } from '../../config/configuration.js'
import { editServer, serversIn } from '../../config/edit.js'
import { type Repeated, readJson } from '../../config/json-syntax.js'
import { setMember } from '../../config/json-text.js'
import { isObject } from '../../text/json-object.js'
import { ConfigError } from '../../config/problems.js'
import { canonicalJson } from '../../text/canonical-json.js'
import { isBlocked, withAllowed } from './exchange.js'
import type { FileChange } from './import-record.js'
import { type Launch, isOwnEntry, ownEntry, wordsOf } from './launch.js'
import { type FoundRule, rulesOf } from './rules.js'
import {
  type KeptSecret,
  type PlainSecret,
  type StoredSecrets,
  plainSecretsOf,
  withReferences,
} from './secrets.js'
import { type OwnEntry, readEntry } from './server-entry.js'
import { type ServerEdits, parseServersFile } from './servers-file.js'
import type { ClientName } from './names.js'
import type { Client, UserMachine } from './table.js'

/** An existing file of a client. */
export interface FoundFile {
  readonly client: Client
  readonly path: string
  readonly text: string
}

export interface MovedServer {
  readonly name: string
  /** Its name in our file. */
  readonly to: string
  readonly entry: OwnEntry
  /** Whether our file gets it now, and does not have it already. */
  readonly isNew: boolean
  /** Names of members that tell the client something; they stay in an entry of the same name, and are lost otherwise. */
  readonly clientMembers: readonly string[]
  /** Names of members that nothing has afterwards. */
  readonly ignored: readonly string[]
}

export interface ClientPlan {
  readonly client: Client
  readonly path: string
  readonly moved: readonly MovedServer[]
  readonly stays: readonly { readonly name: string; readonly why: string }[]
  /** The entry of ours in the client's file; undefined where nothing moves, and with doors. */
  readonly own: string | undefined
  readonly rules: readonly FoundRule[]
  /** Why nothing of this client is changed, behind its path. */
  readonly refused: string | undefined
  readonly notes: readonly string[]
}

export interface ImportPlan {
  readonly clients: readonly ClientPlan[]
  /** Our file is the first. */
  readonly changes: readonly FileChange[]
  /** The values that go to the store of secrets. */
  readonly secrets: readonly KeptSecret[]
  /** With a store of secrets: what our file had in plain text before, and keeps so. */
  readonly plain: readonly PlainSecret[]
  /** The entries of all clients as they were, for their secrets. */
  readonly entries: readonly unknown[]
}

export interface ImportOptions {
  readonly doors: boolean
  /** Whether each client gets a profile that shows its own servers. */
  readonly profiles: boolean
  /** The content of the store of secrets; undefined leaves secrets in the file. */
  readonly stored: StoredSecrets | undefined
  readonly launch: Launch
  readonly machine: UserMachine
  /** Gives the text of a file; undefined where there is none that can be read. */
  readonly read: (path: string) => string | undefined
}

/** @throws EditMistake when our own file cannot be changed, and ConfigError when a start would refuse it */
export function planImport(files: readonly FoundFile[], ownPath: string, options: ImportOptions): ImportPlan {
  const before = options.read(ownPath)
  const own = new OwnFile(before ?? '', ownPath, options.machine.env, options.stored)
  const plans = files.map((file) => planClient(file, own, options))
  own.assertUsable()
  const { exchange } = own
  const all = [
    { path: ownPath, before, after: own.text, exchange },
    ...plans.flatMap(({ change }) => change ?? []),
  ]
  return {
    clients: plans.map(({ plan }) => plan),
    changes: all.filter((change) => change.after !== (change.before ?? '')),
    secrets: own.secrets,
    plain: own.plain,
    entries: plans.flatMap(({ entries }) => entries),
  }
}

interface PlannedClient {
  readonly plan: ClientPlan
  readonly change?: FileChange
  readonly entries: readonly unknown[]
}

function planClient(file: FoundFile, own: OwnFile, options: ImportOptions): PlannedClient {
  const { client, path } = file
  const { launch, doors } = options
  const reading = parseServersFile(client, file.text)
  const nothing = {
    client,
    path,
    moved: [],
    stays: [],
    own: undefined,
    rules: [],
    refused: undefined,
    notes: [],
  }
  if (reading.kind === 'refused') return { plan: { ...nothing, refused: reading.why }, entries: [] }
  const { servers, value } = reading
  const takeBack = own.mark()
  const [, script] = launch.whole
  const taken = takeOver(servers, value, file, own, options)
  const { moved, stays, entries } = taken
  const notes = notesOf(client, value)
  if (moved.length === 0) return { plan: { ...nothing, stays, notes }, entries }
  const ownName = doors ? undefined : ownNameIn(servers, stays, script)
  const profile = options.profiles && !doors ? own.addProfile(client.name, moved) : undefined
  const edits = editsOf(client, taken, servers, { ownName, profile }, options)
  const edited = reading.edit(edits)
  const after = ownName === undefined ? edited : withAllowed(client, value, edited, ownName)
  const check = parseServersFile(client, after)
  if (check.kind === 'refused' || !hasEdits(check.servers, servers, edits)) {
    takeBack()
    return { plan: { ...nothing, refused: 'has a form that cannot be changed safely' }, entries }
  }
  const names = ownName === undefined ? [] : moved.map(({ name }) => name)
  const rules = rulesOf(client, options.machine, value, names, options.read)
  const replaced = [...edits.removed, ...edits.set.keys()].filter((name) => servers.has(name))
  const exchange = {
    client: client.name,
    put: Object.fromEntries(edits.set),
    taken: Object.fromEntries(replaced.map((name) => [name, servers.get(name)])),
    profiles: [],
  }
  return {
    plan: { ...nothing, moved, stays, notes, own: ownName, rules },
    change: { path, before: file.text, after, exchange },
    entries,
  }
}

interface Taken {
  readonly moved: readonly MovedServer[]
  readonly stays: readonly { readonly name: string; readonly why: string }[]
  /** By the name of the server, the members that tell its client something. */
  readonly kept: ReadonlyMap<string, Readonly<Record<string, unknown>>>
  readonly entries: readonly unknown[]
}

function takeOver(
  servers: ReadonlyMap<string, unknown>,
  value: unknown,
  { client }: FoundFile,
  own: OwnFile,
  { launch, doors }: ImportOptions,
): Taken {
  const moved: MovedServer[] = []
  const stays: { name: string; why: string }[] = []
  const kept = new Map<string, Readonly<Record<string, unknown>>>()
  const theirs = [...servers].filter(([, entry]) => !isOwnEntry(entry, launch.whole[1]))
  for (const [name, theirEntry] of theirs) {
    const read = readEntry(theirEntry, client)
    if (read.kind === 'stays') {
      stays.push({ name, why: read.why })
      continue
    }
    // With doors the client goes on to block the entry of that name.
    const isOff = !doors && isBlocked(client, value, name)
    const entry = isOff ? { ...read.entry, disabled: true } : read.entry
    const placed = own.place(name, entry, client, inputsOf(value))
    if (placed.kind === 'stays') {
      stays.push({ name, why: placed.why })
      continue
    }
    const { name: to, isNew } = placed
    const clientMembers = Object.keys(read.clientMembers)
    moved.push({ name, to, entry: placed.entry, isNew, clientMembers, ignored: read.ignored })
    kept.set(name, read.clientMembers)
  }
  return { moved, stays, kept, entries: theirs.map(([, entry]) => entry) }
}

/** The name of our present entry, or one that is free once the servers have moved. */
function ownNameIn(
  servers: ReadonlyMap<string, unknown>,
  stays: Taken['stays'],
  script: string | undefined,
): string {
  const [present] = [...servers].find(([, entry]) => startsAll(entry, script)) ?? []
  const isFree = (name: string): boolean => stays.every((server) => server.name !== name)
  return present ?? ['mcps', 'mcps-proxy'].find(isFree) ?? 'mcps-proxy-all'
}

/** Whether an entry of ours is for all servers. */
function startsAll(entry: unknown, script: string | undefined): boolean {
  return isOwnEntry(entry, script) && wordsOf(entry)?.includes('--server') === false
}

function editsOf(
  client: Client,
  { moved, kept }: Taken,
  servers: ReadonlyMap<string, unknown>,
  { ownName, profile }: { readonly ownName: string | undefined; readonly profile: string | undefined },
  { launch, machine }: ImportOptions,
): ServerEdits {
  if (ownName === undefined) {
    const doors = moved.map(({ name, to }) => {
      const entry = ownEntry(client, machine, launch, ['--server', to])
      return [name, { ...entry, ...kept.get(name) }] as const
    })
    return { removed: [], set: new Map(doors) }
  }
  const isThere = profile === undefined && startsAll(servers.get(ownName), launch.whole[1])
  const words = profile === undefined ? [] : ['--profile', profile]
  return {
    removed: moved.flatMap(({ name }) => (name === ownName ? [] : [name])),
    set: new Map(isThere ? [] : [[ownName, ownEntry(client, machine, launch, words)]]),
  }
}

/** Whether a file has what the edits say, and otherwise what it had. */
function hasEdits(
  now: ReadonlyMap<string, unknown>,
  before: ReadonlyMap<string, unknown>,
  { removed, set }: ServerEdits,
): boolean {
  const wanted = new Map([...before, ...set])
  for (const name of removed) wanted.delete(name)
  return canonicalJson(Object.fromEntries(now)) === canonicalJson(Object.fromEntries(wanted))
}

/** Servers that only one project has, which would have to be shared by all of them. */
function notesOf(client: Client, value: unknown): string[] {
  if (client.name !== 'claude-code' || !isObject(value) || !isObject(value['projects'])) return []
  return Object.entries(value['projects']).flatMap(([folder, project]) => {
    const servers =
      isObject(project) && isObject(project['mcpServers']) ? Object.keys(project['mcpServers']) : []
    return servers.length === 0
      ? []
      : [`${servers.join(', ')} of the project ${folder}: only the servers of all projects move`]
  })
}

function inputsOf(value: unknown): readonly unknown[] {
  return isObject(value) && Array.isArray(value['inputs']) ? value['inputs'] : []
}

type Placed =
  | { readonly kind: 'placed'; readonly name: string; readonly entry: OwnEntry; readonly isNew: boolean }
  | { readonly kind: 'stays'; readonly why: string }

/** Whether our file has an entry already, with its secrets or with references in their place. */
function isSame(name: string, value: unknown, entry: OwnEntry, stored: StoredSecrets = new Map()): boolean {
  const referring = [new Map(), stored].map((each) => withReferences(name, entry, each).entry)
  const ours = canonicalJson(value)
  return [entry, ...referring].some((each) => ours === canonicalJson(each))
}

/** Our file, as it grows. */
class OwnFile {
  text: string
  secrets: readonly KeptSecret[] = []
  readonly plain: readonly PlainSecret[]
  readonly #path: string
  readonly #env: Environment
  readonly #stored: StoredSecrets | undefined
  #servers: Map<string, unknown>
  /** The client that each new server came from. */
  readonly #from = new Map<string, Client>()
  #profiles: readonly string[] = []

  /** @throws EditMistake */
  constructor(text: string, path: string, env: Environment, stored?: StoredSecrets) {
    this.text = text
    this.#path = path
    this.#env = env
    this.#stored = stored
    this.#servers = new Map(Object.entries(text.trim() === '' ? {} : serversIn(text, 'default')))
    this.plain =
      stored === undefined ? [] : [...this.#servers].flatMap(([name, entry]) => plainSecretsOf(name, entry))
  }

  /** Gives a function that undoes what is placed after this call. */
  mark(): () => void {
    const { text, secrets } = this
    const servers = new Map(this.#servers)
    const profiles = this.#profiles
    return () => {
      this.text = text
      this.secrets = secrets
      this.#servers = servers
      this.#profiles = profiles
    }
  }

  /** The additions of this import. */
  get exchange(): FileChange['exchange'] {
    const entries = this.text.trim() === '' ? {} : serversIn(this.text, 'default')
    const added = Object.entries(entries).filter(([name]) => this.#from.has(name))
    return { client: undefined, put: Object.fromEntries(added), taken: {}, profiles: this.#profiles }
  }

  /** Adds the servers of a client to its profile; gives the name of the profile. */
  addProfile(name: ClientName, moved: readonly MovedServer[]): string {
    const file = readJson(this.text)
    const profiles = file.kind === 'value' && isObject(file.value) ? file.value['profiles'] : undefined
    const profile = isObject(profiles) ? profiles[name] : undefined
    const before = isObject(profile) ? profile['servers'] : undefined
    // A profile that a person wrote may show all servers.
    if (profile !== undefined && !Array.isArray(before)) return name
    const servers = [...new Set([...(Array.isArray(before) ? before : []), ...moved.map(({ to }) => to)])]
    this.text =
      profile === undefined
        ? setMember(this.text, ['profiles'], name, { servers })
        : setMember(this.text, ['profiles', name], 'servers', servers)
    if (profile === undefined) this.#profiles = [...this.#profiles, name]
    return name
  }

  /** The file has the same server once; another server of the same name gets the client's name as a suffix. */
  place(name: string, entry: OwnEntry, client: Client, inputs: readonly unknown[]): Placed {
    const same = [...this.#servers].find(
      ([other, value]) =>
        (other === name || this.#from.get(other)?.name !== client.name) &&
        isSame(other, value, entry, this.#stored),
    )
    if (same !== undefined) return { kind: 'placed', name: same[0], entry, isNew: false }
    const needed = this.#inputs(entry, inputs)
    if (typeof needed === 'string') return { kind: 'stays', why: needed }
    const free = this.#free(name, client)
    const trouble = this.#trouble(free, entry, needed)
    if (trouble !== undefined) return { kind: 'stays', why: trouble }
    const written =
      this.#stored === undefined ? { entry, secrets: [] } : withReferences(free, entry, this.#stored)
    this.text = editServer(this.text, 'default', {
      kind: 'add',
      name: free,
      entry: written.entry,
      replaces: false,
    })
    this.secrets = [...this.secrets, ...written.secrets]
    if (needed.length > 0) this.#addInputs(needed)
    this.#servers.set(free, entry)
    this.#from.set(free, client)
    return { kind: 'placed', name: free, entry: written.entry, isNew: true }
  }

  #free(name: string, client: Client): string {
    const names = [name, `${name}-${client.name}`]
    const free = names.find((each) => !this.#servers.has(each))
    if (free !== undefined) return free
    for (let count = 2; ; count++) {
      const next = `${name}-${client.name}-${count}`
      if (!this.#servers.has(next)) return next
    }
  }

  /** The inputs of VS Code that our file lacks; a text is the reason why the server stays. */
  #inputs(entry: OwnEntry, inputs: readonly unknown[]): readonly unknown[] | string {
    const ids = [...JSON.stringify(entry).matchAll(/\$\{input:([^}"\\]+)\}/g)].map(([, id = '']) => id)
    const needed: unknown[] = []
    for (const id of new Set(ids)) {
      const isIt = (each: unknown): boolean => isObject(each) && each['id'] === id
      const theirs = inputs.find(isIt)
      const ours = this.#ownInputs().find(isIt)
      if (theirs === undefined) return `nothing says what "\${input:${id}}" is`
      if (ours !== undefined && canonicalJson(ours) !== canonicalJson(theirs))
        return `its input "${id}" is another one in ${this.#path}`
      if (ours === undefined) needed.push(theirs)
    }
    return needed
  }

  #addInputs(needed: readonly unknown[]): void {
    const all = [...this.#ownInputs(), ...needed]
    this.text = setMember(this.text, [], 'inputs', all)
  }

  #ownInputs(): readonly unknown[] {
    const read = readJson(this.text)
    return read.kind === 'value' ? inputsOf(read.value) : []
  }

  /** Our entry in a client's file is of no use with a configuration that a start refuses. @throws ConfigError */
  assertUsable(): void {
    if (this.text.trim() === '') return
    const read = readJson(this.text)
    if (read.kind === 'value') this.#resolve(read.value, read.repeated)
  }

  /** Why a start would refuse the server. */
  #trouble(name: string, entry: OwnEntry, inputs: readonly unknown[]): string | undefined {
    try {
      this.#resolve({ mcpServers: { [name]: entry }, ...(inputs.length > 0 && { inputs }) })
      return undefined
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error
      const [first] = error.problems
      return first === undefined ? 'a start would refuse it' : `${first.problem}; ${first.hint}`
    }
  }

  #resolve(value: unknown, repeated: readonly Repeated[] = []): void {
    const folder = dirname(this.#path)
    resolveConfig(value, { source: this.#path, folder, env: this.#env, servesHttp: false, repeated })
  }
}
