// `add`, `remove`, `enable` and `disable`: changes of the configuration file, which a running proxy reads again.

import { existsSync, lstatSync, mkdirSync, realpathSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import process from 'node:process'
import type { Configuration } from '../config/configuration.js'
import { ConfigError } from '../config/problems.js'
import { configFileInForce, configTextAt, secretsFile } from '../config/file.js'
import { resolveConfig, secretsIn } from '../config/config.js'
import { EditMistake, type ServerEdit, editServer } from '../config/edit.js'
import { type Repeated, readJson } from '../config/json-syntax.js'
import { changedLines } from '../text/changed-lines.js'
import { errorCode, errorText } from '../text/error-text.js'
import { escapeText } from '../text/escape.js'
import { Redactor } from '../text/redactor.js'
import { realRuntime } from '../real-runtime.js'
import { FileLock } from '../runtime/file-lock.js'
import { replaceFile } from '../runtime/replace-file.js'
import { SecretStore } from '../secrets/store.js'
import { secretNamesIn, withReferences } from './clients/secrets.js'
import type { EditCommand } from './edit-options.js'
import { offerStart } from './offer-start.js'
import { failed, say } from './say.js'
import { startsItself } from './starts-itself.js'
import { storedSecrets, withSecretsStored } from './stored-secrets.js'

/** The system does not let the file be written; the code is that of the system. */
class WriteFailure extends Error {
  readonly code: string | undefined

  constructor(path: string, cause: unknown) {
    const code = errorCode(cause)
    super(
      `${path} cannot be written: ${code ?? errorText(cause)}; check the permissions of the file and of its folder; nothing was changed`,
      { cause },
    )
    this.code = code
  }
}

/** Prints the lines that change; nothing is written that a start would refuse. @returns the exit code */
export async function runEdit({ edit, config, schema, secrets }: EditCommand): Promise<number> {
  const path = configFileInForce(config, process.env)
  return reportingMistakes(path, async () => {
    refuseItself(path, schema, edit)
    const changed = secrets ? await addWithSecrets(path, schema, edit) : await change(path, schema, edit)
    await told(changed === undefined ? `${path}: nothing to change` : `${path}:\n${changed}`.trimEnd())
    if (edit.kind !== 'add') return 0
    const plain = secrets ? [] : secretNamesIn(edit.entry)
    for (const name of plain)
      await told(`${name} looks like a secret; --force --secrets moves it to the store of secrets`)
    await offerStart({ config, schema, name: edit.name })
    return 0
  })
}

async function change(path: string, schema: string, edit: ServerEdit): Promise<string | undefined> {
  return changeFile(path, (text) => editServer(text, schema, edit))
}

/** The file gets references in the place of the secrets. */
async function addWithSecrets(path: string, schema: string, edit: ServerEdit): Promise<string | undefined> {
  if (edit.kind !== 'add') return change(path, schema, edit)
  const store = new SecretStore(secretsFile(process.env), realRuntime())
  const { entry, secrets } = withReferences(edit.name, edit.entry, await storedSecrets(store))
  return withSecretsStored(store, secrets, () => change(path, schema, { ...edit, entry }))
}

/** @throws EditMistake for a server that would start this program with the file that is changed */
function refuseItself(path: string, schema: string, edit: ServerEdit): void {
  const here = { cwd: dirname(path), env: process.env }
  if (edit.kind !== 'add' || !startsItself(edit.entry, here, path, schema)) return
  throw new EditMistake(
    'that command starts mcps-proxy with this file, which it serves already; name another file, for example: mcps-proxy add NAME -- mcps-proxy stdio --config OTHER.json',
  )
}

/** Other commands change the file in less time. */
const LOCK_WAIT_MS_MAX = 30_000

/**
 * Writes the changed text, unless a start would refuse it; gives the lines that differ, without secrets. Two commands that
 * change the file at the same time keep both changes.
 *
 * @throws ConfigError with every problem that a start would have, WriteFailure, and what `change` throws
 */
export async function changeFile(
  path: string,
  change: (text: string) => string,
): Promise<string | undefined> {
  const runtime = realRuntime()
  const lock = new FileLock(`${targetOf(path)}.lock`, runtime)
  if (!(await taken(lock, path)))
    throw new EditMistake(`other commands hold ${lock.path}; remove it if none of them runs`)
  try {
    return changeAlone(path, change)
  } finally {
    lock.free()
    await runtime.close()
  }
}

async function taken(lock: FileLock, path: string): Promise<boolean> {
  try {
    return await lock.take(LOCK_WAIT_MS_MAX)
  } catch (error) {
    throw new WriteFailure(path, error)
  }
}

function changeAlone(path: string, change: (text: string) => string): string | undefined {
  const before = configTextAt(path)
  const after = change(before)
  const redactor = new Redactor(secretsIn(resolved(after, path, stillRepeated(before, after))))
  if (after === before) return undefined
  try {
    write(path, after)
  } catch (error) {
    throw new WriteFailure(path, error)
  }
  if (before !== '') redactor.add(...secretsBefore(before, path))
  return redactor.clean(changedLines(before, after))
}

/** A file that cannot be changed so is a mistake in the command (exit code 2). */
export async function reportingMistakes(path: string, run: () => Promise<number>): Promise<number> {
  try {
    return await run()
  } catch (error) {
    if (!(error instanceof EditMistake)) throw error
    return failed(`${path}: ${error.message}`, 2)
  }
}

/** @throws ConfigError with every problem that a start would refuse */
function resolved(text: string, path: string, repeated: readonly Repeated[] = []): Configuration {
  const read = readJson(text)
  const value = read.kind === 'value' ? read.value : undefined
  const context = { source: path, folder: dirname(path), env: process.env, servesHttp: false, repeated }
  return resolveConfig(value, context)
}

/** The names that are still there twice after a change, at their places in the file. */
function stillRepeated(before: string, after: string): Repeated[] {
  const paths = new Set(repeatedIn(after).map((each) => each.path))
  return repeatedIn(before).filter((each) => paths.has(each.path))
}

function repeatedIn(text: string): readonly Repeated[] {
  const read = readJson(text)
  return read.kind === 'value' ? read.repeated : []
}

/** Of a text that a start would refuse no value is known to be a secret, so that every string counts as one. */
function secretsBefore(text: string, path: string): string[] {
  try {
    return secretsIn(resolved(text, path))
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    return [...text.matchAll(/:\s*"((?:[^"\\]|\\.)*)"/g)].map(([, value = '']) => value)
  }
}

/** A reader finds the old text or the new one; a link stays a link. */
function write(path: string, text: string): void {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
  const target = targetOf(path)
  const mode = statSync(target, { throwIfNoEntry: false })?.mode ?? 0o600
  replaceFile(target, text, mode & 0o777, true)
}

function targetOf(path: string): string {
  const isLink = lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() === true
  return isLink && existsSync(path) ? realpathSync(path) : path
}

async function told(text: string): Promise<void> {
  await say('stdout', `${text.split('\n').map(escapeText).join('\n')}\n`)
}
