// The plan of an import: the servers that move, their names, and the text of every file afterwards.
//
// Planning writes nothing. A server whose entry is not understood stays in its file, and the plan names it.

import { dirname } from 'node:path'
import { resolveConfig, secretsIn } from '../../config/config.js'
import type { Environment } from '../../config/configuration.js'
import { editServer, serversIn } from '../../config/edit.js'
import { readJson } from '../../config/json-syntax.js'
import { setMember } from '../../config/json-text.js'
import { isObject, memberAt } from '../../text/json-object.js'
import { ConfigError } from '../../config/problems.js'
import { canonicalJson } from '../../text/canonical-json.js'
import type { FileChange } from './import-record.js'
import { type OwnLaunch, isBlocked, isOwnEntry, ownEntry, withAllowed, commandWords } from './launch.js'
import { type KeptSecret, type StoredSecrets, secretsOfEntry, withReferences } from './secrets.js'
import { type OwnEntry, readEntry } from './server-entry.js'
import { type ServerEdits, parseServersFile } from './servers-file.js'
import type { Client, UserMachine } from './table.js'

export interface FoundFile {
  readonly client: Client
  readonly path: string
  readonly text: string
}

export interface MovedServer {
  readonly name: string
  readonly to: string
  readonly entry: OwnEntry
  /** Whether the proxy's file gets the server now; false if the file has it already. */
  readonly isNew: boolean
  /** Names of members that are lost. */
  readonly ignored: readonly string[]
}

export interface ClientPlan {
  readonly client: Client
  readonly path: string
  readonly moved: readonly MovedServer[]
  readonly stays: readonly { readonly name: string; readonly why: string }[]
  /** The reason why nothing of this client changes; messages show it after the path. */
  readonly refused?: string
  readonly notes?: readonly string[]
  readonly change?: FileChange
  /** The secrets of all its servers, also of servers that stay. */
  readonly hidden: readonly string[]
}

export interface ImportPlan {
  readonly clients: readonly ClientPlan[]
  /** The proxy's file is the first. */
  readonly changes: readonly FileChange[]
  readonly secrets: readonly KeptSecret[]
  /** The values that must not be shown. */
  readonly hidden: readonly string[]
}

export interface ImportOptions {
  /** Whether each client gets a profile with its own servers. */
  readonly profiles: boolean
  /** The content of the secret store; undefined leaves secrets in the file. */
  readonly stored: StoredSecrets | undefined
  readonly launch: OwnLaunch
  readonly machine: UserMachine
  /** Returns the text of a file; undefined if the file cannot be read. */
  readonly read: (path: string) => string | undefined
}

/** @throws EditMistake if the proxy's file cannot be changed, and ConfigError if a start would refuse it */
export function planImport(files: readonly FoundFile[], ownPath: string, options: ImportOptions): ImportPlan {
  const before = options.read(ownPath)
  const own = new OwnFile(before ?? '', ownPath, options.machine.env, options.stored)
  const clients = files.map((file) => planClient(file, own, options))
  const theirs = clients.flatMap((client) => client.hidden)
  const { text: after, secrets } = own.content
  const hidden = [...own.secretValues(), ...secrets.map(({ value }) => value), ...theirs]
  const all = [
    { path: ownPath, client: undefined, before, after },
    ...clients.flatMap(({ change }) => change ?? []),
  ]
  const changes = all.filter((change) => change.after !== (change.before ?? ''))
  return { clients, changes, secrets, hidden }
}

function planClient(file: FoundFile, own: OwnFile, options: ImportOptions): ClientPlan {
  const { client, path } = file
  const { launch, profiles } = options
  const reading = parseServersFile(client, file.text)
  const nothing = { client, path, moved: [], stays: [] }
  if (reading.kind === 'refused') return { ...nothing, refused: reading.why, hidden: [] }
  const { servers, value } = reading
  const hidden = [...servers.values()].flatMap(secretsOfEntry).filter((secret) => !servers.has(secret))
  const before = own.content
  const theirs = new Map([...servers].filter(([, entry]) => !isOwnEntry(entry, launch.whole[1])))
  const { moved, stays } = moveServers(theirs, value, client, own)
  const found = { client, path, stays, notes: notesOf(client, value), hidden }
  if (moved.length === 0) return { ...found, moved }
  const ownName = ownNameIn(servers, stays, launch.whole[1])
  const profile = profiles ? own.addProfile(client.name, moved) : undefined
  const edits = editsOf(client, moved, servers, ownName, profile, options)
  const after = withAllowed(client, value, reading.edit(edits), ownName)
  const check = parseServersFile(client, after)
  if (check.kind === 'refused' || !hasEdits(check.servers, servers, edits)) {
    own.content = before
    return { ...nothing, refused: 'has a form that cannot be changed safely', hidden }
  }
  return { ...found, moved, change: { path, client: client.name, before: file.text, after } }
}

function moveServers(
  servers: ReadonlyMap<string, unknown>,
  value: unknown,
  client: Client,
  own: OwnFile,
): Pick<ClientPlan, 'moved' | 'stays'> {
  const moved: MovedServer[] = []
  const stays: { name: string; why: string }[] = []
  for (const [name, theirEntry] of servers) {
    const read = readEntry(theirEntry, client)
    const isOff = isBlocked(client, value, name)
    const placed =
      read.kind === 'stays'
        ? read.why
        : own.place(name, isOff ? { ...read.entry, disabled: true } : read.entry, client)
    if (typeof placed === 'string') stays.push({ name, why: placed })
    else if (read.kind === 'server') moved.push({ name, ...placed, ignored: read.ignored })
  }
  return { moved, stays }
}

/** The name of the proxy's present entry, or a name that is free once the servers have moved. */
function ownNameIn(
  servers: ReadonlyMap<string, unknown>,
  stays: ClientPlan['stays'],
  script: string | undefined,
): string {
  const [present] = [...servers].find(([, entry]) => startsAll(entry, script)) ?? []
  const isFree = (name: string): boolean => stays.every((server) => server.name !== name)
  return present ?? ['mcps', 'mcps-proxy'].find(isFree) ?? 'mcps-proxy-all'
}

/** Whether an entry starts the proxy for all servers. */
function startsAll(entry: unknown, script: string | undefined): boolean {
  return isOwnEntry(entry, script) && commandWords(entry)?.includes('--server') === false
}

function editsOf(
  client: Client,
  moved: readonly MovedServer[],
  servers: ReadonlyMap<string, unknown>,
  ownName: string,
  profile: string | undefined,
  { launch, machine }: ImportOptions,
): ServerEdits {
  const isThere = profile === undefined && startsAll(servers.get(ownName), launch.whole[1])
  const words = profile === undefined ? [] : ['--profile', profile]
  return {
    removed: moved.flatMap(({ name }) => (name === ownName ? [] : [name])),
    set: new Map(isThere ? [] : [[ownName, ownEntry(client, machine, launch, words)]]),
  }
}

/** Whether a file has the results of the edits, and is otherwise unchanged. */
function hasEdits(
  now: ReadonlyMap<string, unknown>,
  before: ReadonlyMap<string, unknown>,
  { removed, set }: ServerEdits,
): boolean {
  const wanted = new Map([...before, ...set])
  for (const name of removed) wanted.delete(name)
  return canonicalJson(Object.fromEntries(now)) === canonicalJson(Object.fromEntries(wanted))
}

/** Names servers of single projects, which stay: in the proxy's file, all projects would share them. */
function notesOf(client: Client, value: unknown): string[] {
  if (client.name !== 'claude-code' || !isObject(value) || !isObject(value['projects'])) return []
  return Object.entries(value['projects']).flatMap(([folder, project]) => {
    const servers = isObject(project) && isObject(project['mcpServers']) ? project['mcpServers'] : {}
    const names = Object.keys(servers).join(', ')
    if (names === '') return []
    return [`${names} of the project ${folder}: only the servers of all projects move`]
  })
}

/** Whether the proxy's file has an entry already, with its secrets or with references to them. */
function isSame(name: string, value: unknown, entry: OwnEntry, stored: StoredSecrets = new Map()): boolean {
  const referring = [new Map(), stored].map((each) => withReferences(name, entry, each).entry)
  const ours = canonicalJson(value)
  return [entry, ...referring].some((each) => ours === canonicalJson(each))
}

type Placed = Pick<MovedServer, 'to' | 'entry' | 'isNew'>

interface Content {
  readonly text: string
  readonly secrets: readonly KeptSecret[]
  readonly servers: ReadonlyMap<string, unknown>
  readonly from: ReadonlyMap<string, Client>
}

class OwnFile {
  readonly #path: string
  readonly #env: Environment
  readonly #stored: StoredSecrets | undefined
  /** A plan that cannot be carried out puts the earlier content back. */
  content: Content

  /** @throws EditMistake */
  constructor(text: string, path: string, env: Environment, stored?: StoredSecrets) {
    this.#path = path
    this.#env = env
    this.#stored = stored
    const servers = new Map(Object.entries(text.trim() === '' ? {} : serversIn(text, 'default')))
    this.content = { text, secrets: [], servers, from: new Map() }
  }

  /** Adds the servers of a client to its profile, and returns the name of the profile. */
  addProfile(name: string, moved: readonly MovedServer[]): string {
    const { text } = this.content
    const read = readJson(text)
    const profile = read.kind === 'value' ? memberAt(read.value, ['profiles', name]) : undefined
    const before = memberAt(profile, ['servers'])
    // A profile that a person wrote may show all servers.
    if (profile !== undefined && !Array.isArray(before)) return name
    const servers = [...new Set([...(Array.isArray(before) ? before : []), ...moved.map(({ to }) => to)])]
    const after =
      profile === undefined
        ? setMember(text, ['profiles'], name, { servers })
        : setMember(text, ['profiles', name], 'servers', servers)
    this.content = { ...this.content, text: after }
    return name
  }

  /**
   * Adds a server, unless the file has it. Returns a text if the server must stay: the reason. If another
   * server has the name, the new one gets the client's name as a suffix.
   */
  place(name: string, entry: OwnEntry, client: Client): Placed | string {
    const { text, secrets, servers, from } = this.content
    const same = [...servers].find(
      ([other, value]) =>
        (other === name || from.get(other)?.name !== client.name) &&
        isSame(other, value, entry, this.#stored),
    )
    if (same !== undefined) return { to: same[0], entry, isNew: false }
    const to = this.#free(name, client)
    const trouble = this.#trouble(to, entry)
    if (trouble !== undefined) return trouble
    const { entry: written, secrets: kept } =
      this.#stored === undefined ? { entry, secrets: [] } : withReferences(to, entry, this.#stored)
    this.content = {
      text: editServer(text, 'default', { kind: 'add', name: to, entry: written, replaces: false }),
      secrets: [...secrets, ...kept],
      servers: new Map([...servers, [to, entry]]),
      from: new Map([...from, [to, client]]),
    }
    return { to, entry: written, isNew: true }
  }

  #free(name: string, client: Client): string {
    const { servers } = this.content
    for (let count = 0; ; count++) {
      const suffix = count === 0 ? '' : `-${client.name}${count === 1 ? '' : `-${count}`}`
      if (!servers.has(name + suffix)) return name + suffix
    }
  }

  /** Resolves the whole file: a client's entry is useless if a start refuses the configuration. @throws ConfigError */
  secretValues(): string[] {
    const { text } = this.content
    const read = readJson(text)
    if (text.trim() === '' || read.kind !== 'value') return []
    return secretsIn(resolveConfig(read.value, { ...this.#place, repeated: read.repeated }))
  }

  #trouble(name: string, entry: OwnEntry): string | undefined {
    try {
      resolveConfig({ mcpServers: { [name]: entry } }, this.#place)
      return undefined
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error
      const [first] = error.problems
      return first === undefined ? 'a start would refuse it' : `${first.problem}; ${first.hint}`
    }
  }

  get #place(): Parameters<typeof resolveConfig>[1] {
    return { source: this.#path, folder: dirname(this.#path), env: this.#env, servesHttp: false }
  }
}
