// `lock`: whether lists of servers are compared with `mcps.lock`, and what follows from a change.

import { type ChangeAction, changeActions } from '../upstream/contracts/list-guard.js'
import type { LockPlace } from './configuration.js'
import { choice, type Kind, or, text } from './kinds.js'
import { absoluteFile, type PathBase } from './paths.js'
import { object, optional, type Section } from './section.js'

/** The name of the file, unless the configuration has another. */
export const lockFileName = 'mcps.lock'

const serverFields = {
  onChange: optional(
    choice(...changeActions),
    'What follows from a change: a line in the log, an item that no client sees, or a server that is not used. Absent: warn.',
  ),
}

const fileFields = {
  file: optional(
    text({ wanted: 'a file' }),
    `The file. Absent: ${lockFileName} beside the configuration file.`,
  ),
  ...serverFields,
}

/** `true`, `false` or an object. */
function orSwitch<T>(kind: Kind<T>): Kind<T | boolean> {
  return or([true, false], kind, `true, false, or ${kind.wanted}`)
}

/** The key `lock` beside the servers. */
export const lockFields = {
  lock: optional(
    orSwitch(object(fileFields, 'an object like { "onChange": "hide" }', { isClosed: true })),
    `Whether what servers list is compared with ${lockFileName}. Absent: if the file exists.`,
  ),
}

/** The key `lock` of one server. */
export const serverLockFields = {
  lock: optional(
    orSwitch(object(serverFields, 'an object like { "onChange": "fail" }', { isClosed: true })),
    'The same for this server; false compares nothing. Absent: as the key beside the servers says.',
  ),
}

/** The settings of a file, which hold for servers that have no other. */
export interface LockSettings {
  readonly path: string
  readonly isOn: boolean
  readonly action: ChangeAction
}

/** `folder` is that of the file, and `exists` says that a lock is there. */
export function readLock(root: Section, base: PathBase, exists: boolean): LockSettings {
  const value = root.read(lockFields, 'lock')
  const { file = lockFileName, onChange: action = 'warn' } = typeof value === 'object' ? value : {}
  return { path: absoluteFile(file, base), isOn: value === undefined ? exists : value !== false, action }
}

/** Undefined where nothing asks for a lock. */
export function readServerLock(section: Section, settings: LockSettings): ChangeAction | false | undefined {
  const value = section.read(serverLockFields, 'lock')
  if (value === false) return false
  if (value === undefined && !settings.isOn) return undefined
  return typeof value === 'object' ? (value.onChange ?? settings.action) : settings.action
}

/** The path of the lock, and whether some server is compared with it. */
export function lockPlace(
  { path }: LockSettings,
  locks: readonly (ChangeAction | false | undefined)[],
): LockPlace {
  return { path, isOn: locks.some((each) => each !== undefined && each !== false) }
}
