// The servers that an import exchanges in one file, so that an undo gives them back in a text that has changed since.

import { EditMistake, editServer, serversIn } from '../../config/edit.js'
import { readJson } from '../../config/json-syntax.js'
import { addItem, removeMember } from '../../config/json-text.js'
import { canonicalJson } from '../../text/canonical-json.js'
import { isObject } from '../../text/json-object.js'
import { isOwnEntry } from './launch.js'
import { parseServersFile } from './servers-file.js'
import { type Client, clients } from './table.js'

type Entries = Readonly<Record<string, unknown>>

export interface Exchange {
  /** The client whose file it is; undefined for our file. */
  readonly client: string | undefined
  /** The entries that the import wrote. */
  readonly put: Entries
  /** The entries that the file had in their place. */
  readonly taken: Entries
  /** Names of the profiles that our file got. */
  readonly profiles: readonly string[]
}

/** Undefined for everything that is no exchange. */
export function exchangeOf(value: unknown): Exchange | undefined {
  if (!isObject(value) || !isObject(value['put']) || !isObject(value['taken'])) return undefined
  const { client: name, put, taken, profiles } = value
  const client = clients.find((each) => each.name === name)?.name
  return { client, put, taken, profiles: Array.isArray(profiles) ? profiles.map(String) : [] }
}

export interface TakenBack {
  readonly text: string
  /** Servers that another one of the same name keeps out. */
  readonly kept: readonly string[]
}

/** @throws an error whose message says why the text cannot be changed */
export function takeBack(text: string, exchange: Exchange): TakenBack {
  const client = clients.find(({ name }) => name === exchange.client)
  return client === undefined ? fromOurs(text, exchange) : fromClient(client, text, exchange)
}

function fromClient(client: Client, text: string, { put, taken }: Exchange): TakenBack {
  const reading = parseServersFile(client, text)
  if (reading.kind === 'refused') throw new EditMistake(`it ${reading.why}`)
  const { servers, edit } = reading
  const ours = Object.keys(put).filter((name) => isOwnEntry(servers.get(name)) || isIn(servers, name, put))
  const back = Object.entries(taken).filter(([name]) => !servers.has(name) || ours.includes(name))
  const set = new Map(back.flatMap(([name, entry]) => (isObject(entry) ? [[name, entry] as const] : [])))
  const edited = edit({ removed: ours.filter((name) => !set.has(name)), set })
  const others = Object.keys(taken).filter((name) => !set.has(name) && !isIn(servers, name, taken))
  return { text: ours.reduce((each, name) => withoutAllowed(client, each, name), edited), kept: others }
}

function isIn(servers: ReadonlyMap<string, unknown>, name: string, entries: Entries): boolean {
  return servers.has(name) && canonicalJson(servers.get(name)) === canonicalJson(entries[name])
}

/** Servers that were changed since stay. */
function fromOurs(text: string, { put, profiles }: Exchange): TakenBack {
  const servers = new Map(Object.entries(serversIn(text, 'default')))
  const added = Object.keys(put).filter((name) => isIn(servers, name, put))
  const withoutServers = added.reduce(
    (each, name) => editServer(each, 'default', { kind: 'remove', name }),
    text,
  )
  const after = profiles.reduce((each, name) => removeMember(each, ['profiles', name]), withoutServers)
  return { text: after, kept: [] }
}

/** Whether the client starts no server of that name. */
export function isBlocked({ lists }: Client, file: unknown, name: string): boolean {
  const [allowed, excluded] = [namesAt(file, lists?.allowed), namesAt(file, lists?.excluded)]
  return excluded?.includes(name) === true || allowed?.includes(name) === false
}

/** The text in which the client may start our entry. */
export function withAllowed({ lists }: Client, file: unknown, text: string, name: string): string {
  const isMissing = namesAt(file, lists?.allowed)?.includes(name) === false
  return lists !== undefined && isMissing ? addItem(text, [...lists.allowed], name) : text
}

function withoutAllowed({ lists }: Client, text: string, name: string): string {
  if (lists === undefined) return text
  const read = readJson(text)
  const at = namesAt(read.kind === 'value' ? read.value : undefined, lists.allowed)?.indexOf(name) ?? -1
  return at < 0 ? text : removeMember(text, [...lists.allowed, at])
}

function namesAt(file: unknown, path: readonly string[] = []): readonly unknown[] | undefined {
  const list = path.reduce<unknown>((at, name) => (isObject(at) ? at[name] : undefined), file)
  return path.length > 0 && Array.isArray(list) ? list : undefined
}
