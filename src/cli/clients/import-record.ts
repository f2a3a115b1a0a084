// Changes of several files, and the record with which an undo restores them.
//
// The record contains each file before and after the import. It is on the disk before the first file is
// replaced, until all are restored. If a process is killed, each file is old or new, and an undo works.

import { existsSync, mkdirSync, readFileSync, readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { EditMistake } from '../../config/edit.js'
import { rewriteFile } from '../../config/file.js'
import { readJson } from '../../config/json-syntax.js'
import { realPlace } from '../../runtime/places.js'
import { replaceFile } from '../../runtime/write-file.js'
import { canonicalJson } from '../../text/canonical-json.js'
import { errorCode, errorText } from '../../text/error-text.js'
import { isObject } from '../../text/json-object.js'
import { isOwnEntry, withoutAllowed } from './launch.js'
import { parseServersFile } from './servers-file.js'
import { type Client, clients } from './table.js'

export interface FileChange {
  readonly path: string
  /** The name of the client that owns the file; undefined for the proxy's file. */
  readonly client: string | undefined
  /** The text of the file before and after. A file that does not exist yet has no text before. */
  readonly before: string | undefined
  readonly after: string
}

interface ImportRecord {
  readonly path: string
  /** The proxy's file is the first. */
  readonly changes: readonly FileChange[]
}

/** Thrown if another program has written a file since it was read. */
export class ChangedMeanwhile extends Error {
  constructor(path: string) {
    super(`${path} has been changed meanwhile`)
    this.name = 'ChangedMeanwhile'
  }
}

const FORMAT = 2

/**
 * Writes all files or none, and returns the path of the record.
 *
 * @throws ChangedMeanwhile, or the system's error; all changes are undone then
 */
export function applyChanges(changes: readonly FileChange[], folder: string): string {
  assertUnchanged(changes)
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  const number = (Number(newestIn(folder)?.slice(0, NUMBER_LENGTH)) || 0) + 1
  const path = join(folder, `${String(number).padStart(NUMBER_LENGTH, '0')}.json`)
  replaceFile(path, `${JSON.stringify({ format: FORMAT, changes }, undefined, 2)}\n`, 0o600, true)
  try {
    for (const change of changes) {
      assertUnchanged([change])
      rewriteFile(change.path, change.after)
    }
  } catch (error) {
    undo({ path, changes }, false)
    throw error
  }
  return path
}

export interface Undone {
  readonly path: string
  /** Whether the file has its earlier servers again. */
  readonly isDone: boolean
  /** Undefined if the file has its earlier bytes again; otherwise the difference. */
  readonly note: string | undefined
}

/**
 * Undoes the newest import. An unchanged or missing file gets its earlier bytes, and a changed file of a
 * client gets its earlier servers. The proxy's file and the record stay until all clients' files are
 * restored.
 *
 * @returns undefined if there is no record
 * @throws EditMistake for a record that cannot be used
 */
export function undoNewest(folder: string, isDry = false): readonly Undone[] | undefined {
  const newest = newestIn(folder)
  return newest === undefined ? undefined : undo(readRecord(join(folder, newest)), isDry)
}

function undo({ path, changes }: ImportRecord, isDry: boolean): readonly Undone[] {
  const undone: Undone[] = []
  for (const change of changes.toReversed()) {
    const waits = change.client === undefined && undone.some(({ isDone }) => !isDone)
    const note = 'it stays until the other files are done'
    undone.push(waits ? { path: change.path, isDone: false, note } : undoFile(change, isDry))
  }
  if (!isDry && undone.every(({ isDone }) => isDone)) rmSync(path, { force: true })
  return undone
}

function undoFile(change: FileChange, isDry: boolean): Undone {
  const { path, before, after } = change
  const done = (note?: string): Undone => ({ path, isDone: true, note })
  try {
    const now = textOf(path)
    if (now === before) return done()
    const isWhole = now === undefined || now === after
    const client = clients.find(({ name }) => name === change.client)
    if (!isWhole && client === undefined) return done('it has been changed since, and keeps the servers')
    const { text, kept } =
      isWhole || client === undefined ? { text: before, kept: [] } : serversBack(client, now, change)
    if (!isDry && text === undefined) rmSync(realPlace(path))
    else if (!isDry && text !== undefined && text !== now) rewriteFile(path, text)
    if (isWhole) return done()
    const others = kept.length === 0 ? '' : `; ${kept.join(', ')}: another server has that name now`
    return done(`it has been changed since, so that only the servers are as they were${others}`)
  } catch (error) {
    return { path, isDone: false, note: `it cannot be restored now: ${errorText(error)}` }
  }
}

/**
 * Restores the servers in a text that has changed since, except those whose names, `kept`, other servers have now.
 *
 * @throws an error whose message is the reason
 */
function serversBack(client: Client, now: string, { before = '', after }: FileChange) {
  const [old, put] = [serversOf(client, before).servers, serversOf(client, after).servers]
  const { servers, edit } = serversOf(client, now)
  const ours = [...put].flatMap((each) => {
    const [name] = each
    const isOurs = !isIn(each, old) && (isOwnEntry(servers.get(name)) || isIn(each, servers))
    return isOurs ? [name] : []
  })
  const taken = [...old].filter((each) => !isIn(each, put))
  const back = taken.filter(([name]) => !servers.has(name) || ours.includes(name))
  const set = new Map(back.flatMap(([name, entry]) => (isObject(entry) ? [[name, entry] as const] : [])))
  const edited = edit({ removed: ours.filter((name) => !set.has(name)), set })
  const kept = taken.flatMap((each) => (set.has(each[0]) || isIn(each, servers) ? [] : [each[0]]))
  return { text: ours.reduce((text, name) => withoutAllowed(client, text, name), edited), kept }
}

function isIn([name, entry]: readonly [string, unknown], all: ReadonlyMap<string, unknown>): boolean {
  return canonicalJson(all.get(name)) === canonicalJson(entry)
}

function serversOf(
  client: Client,
  text: string,
): Extract<ReturnType<typeof parseServersFile>, { kind: 'servers' }> {
  const reading = parseServersFile(client, text)
  if (reading.kind === 'refused') throw new EditMistake(`it ${reading.why}`)
  return reading
}

const NUMBER_LENGTH = 6

/** The record with the highest number. Records of earlier versions have dates as names, and are older. */
function newestIn(folder: string): string | undefined {
  if (!existsSync(folder)) return undefined
  const names = readdirSync(folder).filter((name) => name.endsWith('.json'))
  return names.sort().findLast((name) => /^\d{6}\.json$/.test(name)) ?? names.at(-1)
}

/** @throws EditMistake */
function readRecord(path: string): ImportRecord {
  const read = readJson(readFileSync(path, 'utf8'))
  const { format, changes } = read.kind === 'value' && isObject(read.value) ? read.value : {}
  if (format !== FORMAT || !Array.isArray(changes) || !changes.every(isChange))
    throw new EditMistake(`${path} is no record that this version of mcps-proxy can read`)
  return { path, changes }
}

function isChange(value: unknown): value is FileChange {
  if (!isObject(value)) return false
  const { path, client, before, after } = value
  return [path, after, client ?? '', before ?? ''].every((each) => typeof each === 'string')
}

/** @throws ChangedMeanwhile */
export function assertUnchanged(changes: readonly FileChange[]): void {
  for (const { path, before } of changes) if (textOf(path) !== before) throw new ChangedMeanwhile(path)
}

function textOf(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return undefined
    throw error
  }
}
