// `lock`: whether lists of servers are compared with `mcps.lock`, and what follows from a change.

import {
  type ChangeAction,
  type ChangeActions,
  changeActions,
  type ChangeClass,
  changeClasses,
} from '../upstream/contracts/list-guard.js'
import type { LockPlace } from './configuration.js'
import { choice, type Kind, or, text } from './kinds.js'
import { absoluteFile, type PathBase } from './paths.js'
import { type Field, type FieldsOf, object, optional, type Section } from './section.js'

/** The name of the file, unless the configuration has another. */
export const lockFileName = 'mcps.lock'

type Action = ChangeAction | undefined

/** The actions for changes: one for all, or one by class. */
type OnChange = ChangeAction | ({ readonly default: Action } & Readonly<Record<ChangeClass, Action>>)

/** `lock` of a server. */
export interface ServerLockValues {
  readonly onChange: OnChange | undefined
}

/** `lock` of a file. */
export interface LockValues extends ServerLockValues {
  readonly file: string | undefined
}

const action = choice(...changeActions)

const abouts: Readonly<Record<ChangeClass, string>> = {
  new: 'A tool or prompt that was not listed before.',
  removed: 'A tool or prompt that is listed no more; hide is as warn.',
  renamed: 'A tool or prompt that is the same under another name.',
  description: 'Another title or description of a tool, or of one of its arguments.',
  inputWider: 'The schema of the arguments takes more than before.',
  inputNarrower: 'The schema of the arguments takes less than before.',
  input: 'Another change of the schema of the arguments.',
  output: 'Another schema of the results.',
  annotations: 'Other annotations that do not make the tool more dangerous.',
  newlyDestructive: 'Annotations by which the tool may change or destroy more than before.',
  prompt: 'A prompt with another description or other arguments.',
  instructions: 'Another text of instructions.',
  other: 'Any other member of a tool.',
}

const byClass = object(
  {
    default: optional(action, 'Every class that is not named. Absent: warn.'),
    ...eachClass((name): Field<Action> => optional(action, `${abouts[name]} Absent: default.`)),
  },
  'one of "warn", "hide", "fail", or an object of them by class',
  { isClosed: true },
)

const actionOrClasses = or(changeActions, byClass)

const onChange: Kind<OnChange> = {
  ...actionOrClasses,
  // A text can only be meant as an action, and the message shows it.
  read: (value, spot) =>
    typeof value === 'string' ? action.read(value, spot) : actionOrClasses.read(value, spot),
}

const serverFields: FieldsOf<ServerLockValues> = {
  onChange: optional(
    onChange,
    'What follows from a change: a line in the log, an item that no client sees, or a server that is not used. Absent: warn.',
  ),
}

const fileFields: FieldsOf<LockValues> = {
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
export const lockFields: FieldsOf<{ readonly lock: LockValues | boolean | undefined }> = {
  lock: optional(
    orSwitch(object(fileFields, 'an object like { "onChange": "hide" }', { isClosed: true })),
    `Whether what servers list is compared with ${lockFileName}. Absent: if the file exists.`,
  ),
}

/** The key `lock` of one server. */
export const serverLockFields: FieldsOf<{ readonly lock: ServerLockValues | boolean | undefined }> = {
  lock: optional(
    orSwitch(object(serverFields, 'an object like { "onChange": "fail" }', { isClosed: true })),
    'The same for this server; false compares nothing. Absent: as the key beside the servers says.',
  ),
}

/** The settings of a file, which hold for servers that have no other. */
export interface LockSettings {
  readonly path: string
  readonly isOn: boolean
  readonly actions: ChangeActions
}

const warns: ChangeActions = actionsOf('warn')

/** `folder` is that of the file, and `exists` says that a lock is there. */
export function readLock(root: Section, base: PathBase, exists: boolean): LockSettings {
  const value = root.read(lockFields, 'lock')
  const { file = lockFileName, onChange: given } = typeof value === 'object' ? value : {}
  return {
    path: absoluteFile(file, base),
    isOn: value === undefined ? exists : value !== false,
    actions: given === undefined ? warns : actionsOf(given),
  }
}

/** Undefined where nothing asks for a lock. */
export function readServerLock(section: Section, settings: LockSettings): ChangeActions | false | undefined {
  const value = section.read(serverLockFields, 'lock')
  if (value === false) return false
  if (value === undefined && !settings.isOn) return undefined
  return typeof value === 'object' && value.onChange !== undefined
    ? actionsOf(value.onChange, settings.actions)
    : settings.actions
}

/** Classes that are not named have the action that `default` names, else that of `fallbacks`. */
function actionsOf(given: OnChange, fallbacks?: ChangeActions): ChangeActions {
  const of = (name: ChangeClass): ChangeAction =>
    typeof given === 'string' ? given : (given[name] ?? given.default ?? fallbacks?.[name] ?? 'warn')
  return eachClass(of)
}

function eachClass<T>(of: (name: ChangeClass) => T): Readonly<Record<ChangeClass, T>> {
  const record: Partial<Record<ChangeClass, T>> = {}
  for (const name of changeClasses) record[name] = of(name)
  if (hasEach(record)) return record
  throw new Error('a class of changes has no value')
}

function hasEach<T>(record: Partial<Record<ChangeClass, T>>): record is Record<ChangeClass, T> {
  return changeClasses.every((name) => Object.hasOwn(record, name))
}

/** The path of the lock, and whether some server is compared with it. */
export function lockPlace(
  { path }: LockSettings,
  locks: readonly (ChangeActions | false | undefined)[],
): LockPlace {
  return { path, isOn: locks.some((each) => each !== undefined && each !== false) }
}
