// Changes of the configuration file by commands: one command at a time, and nothing is written that a start would refuse.

import { dirname } from 'node:path'
import process from 'node:process'
import { resolveConfig, secretsIn } from '../config/config.js'
import type { Configuration } from '../config/configuration.js'
import { EditMistake } from '../config/edit.js'
import { configFileInForce, configTextAt, rewriteFile } from '../config/file.js'
import { type Repeated, readJson } from '../config/json-syntax.js'
import { ConfigError } from '../config/problems.js'
import { realRuntime } from '../real-runtime.js'
import { FileLock } from '../runtime/file-lock.js'
import { realPlace } from '../runtime/places.js'
import { changedLines } from '../text/changed-lines.js'
import { errorCode, errorText } from '../text/error-text.js'
import { Redactor } from '../text/redactor.js'
import { Failure } from './console.js'

/**
 * Runs a command that changes the configuration file, the one that is named or that a start would find. A file that cannot be changed
 * so is a mistake in the command (exit code 2).
 */
export async function editing(
  named: string | undefined,
  run: (path: string) => Promise<number>,
): Promise<number> {
  const path = configFileInForce(named, process.env)
  try {
    return await run(path)
  } catch (error) {
    if (!(error instanceof EditMistake)) throw error
    throw new Failure(`${path}: ${error.message}`, 2)
  }
}

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
  return alone(path, async () => changeAlone(path, change))
}

/** Runs while no other command changes the file. @throws EditMistake, WriteFailure, and what `run` throws */
export async function alone<T>(path: string, run: () => Promise<T>): Promise<T> {
  const runtime = realRuntime()
  const lock = new FileLock(`${realPlace(path)}.lock`, runtime)
  if (!(await taken(lock, path)))
    throw new EditMistake(`other commands hold ${lock.path}; remove it if none of them runs`)
  try {
    return await run()
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
    rewriteFile(path, after)
  } catch (error) {
    throw new WriteFailure(path, error)
  }
  if (before !== '') redactor.add(...secretsBefore(before, path))
  return redactor.clean(changedLines(before, after))
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
  const [old, now] = [before, after].map((text) => {
    const read = readJson(text)
    return read.kind === 'value' ? read.repeated : []
  })
  return old?.filter(({ path }) => now?.some((each) => each.path === path)) ?? []
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
