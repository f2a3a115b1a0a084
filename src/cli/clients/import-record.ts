// Changes of several files, and the record that takes them back.
//
// The record and a copy of each file are on the disk before the first file is replaced, and the record stays until every file
// is as it was. A process that is killed at any point leaves each file old or new, and an undo works then, too.

import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { realPlace } from '../../runtime/places.js'
import { replaceFile } from '../../runtime/write-file.js'
import { modeOf, rewriteFile } from '../../config/file.js'
import { readJson } from '../../config/json-syntax.js'
import { isObject } from '../../text/json-object.js'
import { errorCode, errorText } from '../../text/error-text.js'
import { type Exchange, exchangeOf, takeBack } from './exchange.js'

/** The text of a file before and after; a file that is not there yet has none before. */
export interface FileChange {
  readonly path: string
  readonly before: string | undefined
  readonly after: string
  readonly exchange: Exchange
}

/** One file of a record. */
interface RecordedChange {
  readonly path: string
  /** A copy of the file as it was; undefined for a file that was not there. */
  readonly backup: string | undefined
  /** SHA-256 of the file before and after the import. */
  readonly before: string | undefined
  readonly after: string
  /** The changes of an undo if another program has written the file since. */
  readonly exchange: Exchange
}

interface ImportRecord {
  readonly path: string
  /** Our file is the first. */
  readonly changes: readonly RecordedChange[]
}

/** Another program has written a file since it was read. */
export class ChangedMeanwhile extends Error {
  constructor(path: string) {
    super(`${path} has been changed meanwhile`)
    this.name = 'ChangedMeanwhile'
  }
}

const FORMAT = 1

/**
 * Writes all of them, or none; gives the copies. `onStep` is called before each write.
 *
 * @throws ChangedMeanwhile, or the system's error; what was written is taken back then
 */
export function applyChanges(
  changes: readonly FileChange[],
  folder: string,
  date: Date,
  onStep: () => void = () => undefined,
): readonly string[] {
  assertUnchanged(changes)
  const stamp = date.toISOString().slice(0, 19).replaceAll(':', '-')
  const recorded = changes.map(({ path, before, after, exchange }) => ({
    path,
    backup: before === undefined ? undefined : unused(`${path}.mcps-proxy-backup-${stamp}`),
    before: before === undefined ? undefined : hashOf(before),
    after: hashOf(after),
    exchange,
  }))
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  const record = { path: unused(join(folder, `${stamp}.json`)), changes: recorded }
  const content = { format: FORMAT, date: date.toISOString(), changes: recorded }
  replaceFile(record.path, `${JSON.stringify(content, undefined, 2)}\n`, 0o600, true)
  try {
    for (const [at, { before = '', path }] of changes.entries()) {
      onStep()
      const backup = recorded[at]?.backup
      if (backup !== undefined) replaceFile(backup, before, modeOf(path), true)
    }
    for (const change of changes) {
      onStep()
      assertUnchanged([change])
      rewriteFile(change.path, change.after)
    }
  } catch (error) {
    undo(record, false)
    throw error
  }
  return recorded.flatMap(({ backup }) => backup ?? [])
}

export interface Undone {
  readonly path: string
  /** Whether the file has the servers that it had before. */
  readonly isDone: boolean
  /** Undefined where the file has the bytes that it had before; else what is different. */
  readonly note: string | undefined
}

/**
 * Undoes the newest import: a file that is unchanged since gets the bytes of its copy, and another one gets its servers.
 *
 * Our file and the record stay until the files of all clients are done.
 *
 * @returns undefined when there is no record
 */
export function undoNewest(folder: string, isDry = false): readonly Undone[] | undefined {
  const newest = recordsIn(folder).at(-1)
  return newest && undo(newest, isDry)
}

function undo({ path, changes }: ImportRecord, isDry: boolean): readonly Undone[] {
  const undone: Undone[] = []
  for (const change of changes.toReversed()) {
    const waits = change.exchange.client === undefined && undone.some(({ isDone }) => !isDone)
    const note = 'it stays until the other files are done'
    undone.push(waits ? { path: change.path, isDone: false, note } : undoFile(change, isDry))
  }
  if (!isDry && undone.every(({ isDone }) => isDone)) rmSync(path, { force: true })
  return undone
}

function undoFile({ path, backup, before, after, exchange }: RecordedChange, isDry: boolean): Undone {
  try {
    const now = bytesOf(path)
    const bytes = backup === undefined ? undefined : bytesOf(backup)
    const copy = backup === undefined ? '' : `; as it was it is in ${backup}`
    // Where an earlier undo has restored the file, its copy is gone.
    const isOld = (now && hashOf(now)) === before
    if (!isOld && now === undefined) return { path, isDone: true, note: `it has been removed since${copy}` }
    if (!isOld && now !== undefined) {
      if (hashOf(now) !== after || (bytes && hashOf(bytes)) !== before) {
        const note = takeServersBack(path, now.toString('utf8'), exchange, isDry)
        return { path, isDone: true, note: note + copy }
      }
      if (!isDry && bytes === undefined) rmSync(realPlace(path))
      else if (!isDry && bytes !== undefined) rewriteFile(path, bytes)
    }
    if (!isDry && backup !== undefined) rmSync(backup, { force: true })
    return { path, isDone: true, note: undefined }
  } catch (error) {
    return { path, isDone: false, note: `it cannot be restored now: ${errorText(error)}` }
  }
}

function takeServersBack(path: string, now: string, exchange: Exchange, isDry: boolean): string {
  const { text, kept } = takeBack(now, exchange)
  if (!isDry && text !== now) rewriteFile(path, text)
  const others = kept.length === 0 ? '' : `; ${kept.join(', ')}: another server has that name now`
  return `it has been changed since, so that only the servers are as they were${others}`
}

/** The oldest first. */
function recordsIn(folder: string): ImportRecord[] {
  if (!existsSync(folder)) return []
  // `…-2.json` is later than `….json`, although `-` sorts before `.`.
  const stems = readdirSync(folder).flatMap((name) => /^(.*)\.json$/.exec(name)?.[1] ?? [])
  return stems.sort().flatMap((stem) => {
    const path = join(folder, `${stem}.json`)
    const read = readJson(readFileSync(path, 'utf8'))
    const value = read.kind === 'value' && isObject(read.value) ? read.value : {}
    const changes = value['format'] === FORMAT ? value['changes'] : undefined
    return Array.isArray(changes) ? [{ path, changes: changes.flatMap(changeOf) }] : []
  })
}

function changeOf(value: unknown): RecordedChange[] {
  if (!isObject(value)) return []
  const { path, backup, before, after } = value
  const exchange = exchangeOf(value['exchange'])
  if (typeof path !== 'string' || typeof after !== 'string' || exchange === undefined) return []
  const [copy, old] = [backup, before].map((text) => (typeof text === 'string' ? text : undefined))
  return [{ path, after, backup: copy, before: old, exchange }]
}

/** @throws ChangedMeanwhile */
export function assertUnchanged(changes: readonly FileChange[]): void {
  for (const { path, before } of changes)
    if (bytesOf(path)?.toString('latin1') !== (before && Buffer.from(before).toString('latin1')))
      throw new ChangedMeanwhile(path)
}

function unused(path: string): string {
  const [, stem = path, ending = ''] = /^(.*?)(\.json)?$/.exec(path) ?? []
  for (let count = 1; ; count++) {
    const name = count === 1 ? path : `${stem}-${count}${ending}`
    if (!existsSync(name)) return name
  }
}

function bytesOf(path: string): Buffer | undefined {
  try {
    return readFileSync(path)
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return undefined
    throw error
  }
}

function hashOf(content: string | Uint8Array): string {
  return createHash('sha256').update(content).digest('hex')
}
