// Changes of several files, with what undoes them.
//
// Every file is replaced by rename, after a copy of it and a record of all of them are on the disk. A process that is
// killed at any point leaves each file old or new, and the record says which bytes are which.

import { createHash } from 'node:crypto'
import {
  existsSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  readlinkSync,
  realpathSync,
  rmSync,
  statSync,
} from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { replaceFile } from '../../runtime/replace-file.js'
import { isObject } from '../../text/json-object.js'
import { errorCode, errorText } from '../../text/error-text.js'

/** The text of a file before and after; a file that is not there yet has none before. */
export interface FileChange {
  readonly path: string
  readonly before: string | undefined
  readonly after: string
}

/** One file of a record. */
interface RecordedChange {
  readonly path: string
  /** A copy of the file as it was; undefined for a file that was not there. */
  readonly backup: string | undefined
  /** SHA-256 of the file before and after. */
  readonly before: string | undefined
  readonly after: string
}

/** Another program has written a file since it was read. */
export class ChangedMeanwhile extends Error {
  readonly path: string

  constructor(path: string) {
    super(`${path} has been changed meanwhile`)
    this.name = 'ChangedMeanwhile'
    this.path = path
  }
}

const FORMAT = 1

/** The record of an import that is about to be written. */
export interface WrittenRecord {
  readonly path: string
  readonly changes: readonly RecordedChange[]
}

/**
 * Writes all of them, or none; gives the copies.
 *
 * @throws ChangedMeanwhile, or the system's error; what was written is taken back then
 */
export function applyChanges(changes: readonly FileChange[], folder: string, date: Date): readonly string[] {
  const record = recordChanges(changes, folder, date)
  try {
    writeRecorded(changes, record)
  } catch (error) {
    undo(record)
    throw error
  }
  return record.changes.flatMap(({ backup }) => backup ?? [])
}

/** Writes what undoes them, before anything else. @throws ChangedMeanwhile */
export function recordChanges(changes: readonly FileChange[], folder: string, date: Date): WrittenRecord {
  const stamp = date.toISOString().slice(0, 19).replaceAll(':', '-')
  assertUnchanged(changes)
  const recorded = changes.map(({ path, before, after }) => ({
    path,
    backup: before === undefined ? undefined : unused(`${path}.mcps-proxy-backup-${stamp}`),
    before: before === undefined ? undefined : hashOf(before),
    after: hashOf(after),
  }))
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  const record = JSON.stringify({ format: FORMAT, date: date.toISOString(), changes: recorded }, undefined, 2)
  const path = unused(join(folder, `${stamp}.json`))
  replaceFile(path, `${record}\n`, 0o600, true)
  return { path, changes: recorded }
}

/** `onStep` is called between any two writes. @throws ChangedMeanwhile when a file changes in the very moment */
export function writeRecorded(
  changes: readonly FileChange[],
  record: WrittenRecord,
  onStep: () => void = () => undefined,
): void {
  for (const [at, { before = '', path }] of changes.entries()) {
    onStep()
    const backup = record.changes[at]?.backup
    if (backup !== undefined) replaceFile(backup, before, modeOf(path), true)
  }
  for (const change of changes) {
    onStep()
    assertUnchanged([change])
    const target = targetOf(change.path)
    mkdirSync(dirname(target), { recursive: true, mode: 0o700 })
    replaceFile(target, change.after, modeOf(change.path), true)
  }
  onStep()
}

export interface Undone {
  readonly path: string
  /** Whether it has the bytes that it had before; else the reason why the undo left it. */
  readonly left: string | undefined
}

/**
 * Gives every file of the newest record the bytes that it had, unless it was changed since.
 *
 * @returns undefined when there is no record
 */
export function undoNewest(folder: string, isDry = false): readonly Undone[] | undefined {
  const newest = recordsIn(folder).at(-1)
  return newest && undo(newest, isDry)
}

/** Where the system refuses a file, the others are restored all the same, and the record stays for another try. */
function undo({ path, changes }: WrittenRecord, isDry = false): readonly Undone[] {
  let isRefused = false
  const undone = changes.toReversed().map((change) => {
    try {
      const left = restore(change, isDry)
      if (!isDry && left === undefined && change.backup !== undefined) rmSync(change.backup, { force: true })
      return { path: change.path, left }
    } catch (error) {
      isRefused = true
      return { path: change.path, left: `it cannot be restored now: ${errorText(error)}` }
    }
  })
  if (!isDry && !isRefused) rmSync(path, { force: true })
  return undone
}

/** Undefined for a file that has the bytes of before, or will have them; else why it was left. */
function restore({ path, backup, before, after }: RecordedChange, isDry: boolean): string | undefined {
  const now = bytesOf(path)
  const hash = now === undefined ? undefined : hashOf(now)
  if (hash === before) return undefined
  const copy = backup === undefined ? '' : `; as it was it is in ${backup}`
  if (hash !== after) return `it has been ${now === undefined ? 'removed' : 'changed'} since${copy}`
  if (before === undefined || backup === undefined) {
    if (!isDry) rmSync(targetOf(path))
    return undefined
  }
  const bytes = bytesOf(backup)
  if (bytes === undefined || hashOf(bytes) !== before) return `its copy ${backup} is not there, or changed`
  if (!isDry) replaceFile(targetOf(path), bytes, modeOf(path), true)
  return undefined
}

function recordsIn(folder: string): WrittenRecord[] {
  if (!existsSync(folder)) return []
  const names = readdirSync(folder).filter((name) => name.endsWith('.json'))
  return names.sort(byDate).flatMap((name) => {
    const path = join(folder, name)
    const changes = changesIn(readFileSync(path, 'utf8'))
    return changes === undefined ? [] : [{ path, changes }]
  })
}

/** `…-2.json` is later than `….json`, although `-` sorts before `.`. */
function byDate(one: string, other: string): number {
  const [a, b] = [one.replace('.json', ''), other.replace('.json', '')]
  return a < b ? -1 : 1
}

/** Undefined for everything that is no such record. */
function changesIn(text: string): RecordedChange[] | undefined {
  try {
    const value: unknown = JSON.parse(text)
    if (!isObject(value) || value['format'] !== FORMAT || !Array.isArray(value['changes'])) return undefined
    return value['changes'].flatMap((change: unknown) => {
      if (!isObject(change)) return []
      const { path, backup, before, after } = change
      if (typeof path !== 'string' || typeof after !== 'string') return []
      return [{ path, after, backup: textOr(backup), before: textOr(before) }]
    })
  } catch {
    return undefined
  }
}

function textOr(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined
}

/** @throws ChangedMeanwhile */
export function assertUnchanged(changes: readonly FileChange[]): void {
  for (const { path, before } of changes) {
    const now = bytesOf(path)
    const isSame =
      now === undefined ? before === undefined : before !== undefined && now.equals(Buffer.from(before))
    if (!isSame) throw new ChangedMeanwhile(path)
  }
}

/** A link stays a link, also one to a file that is not there. */
function targetOf(path: string): string {
  if (existsSync(path)) return realpathSync(path)
  const isLink = lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() === true
  return isLink ? targetOf(resolve(dirname(path), readlinkSync(path))) : path
}

function modeOf(path: string): number {
  return (statSync(path, { throwIfNoEntry: false })?.mode ?? 0o600) & 0o777
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
