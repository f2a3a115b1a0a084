// Changes of the configuration file by commands: one command at a time, and nothing is written that a start would refuse; and what
// `import` and `add` offer for new servers: the store for their secrets, and one start, so that the first list has their tools.

import { dirname } from 'node:path'
import process from 'node:process'
import { askLine, isAtTerminal } from '../ask/terminal.js'
import { resolveConfig } from '../config/config.js'
import { EditMistake } from '../config/edit.js'
import { configFileInForce, configTextAt, homeOf, ownPath, rewriteFile } from '../config/file.js'
import { readJson } from '../config/json-syntax.js'
import { realRuntime } from '../real-runtime.js'
import { FileLock } from '../runtime/file-lock.js'
import { realPlace } from '../runtime/places.js'
import { errorCode, errorText } from '../text/error-text.js'
import { SecretStore, SecretStoreError } from '../secrets/store.js'
import type { KeptSecret, StoredSecrets } from './clients/secrets.js'
import { Failure, print } from './console.js'

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

/**
 * Writes the changed text, unless a start would refuse it. Two commands that change the file at the same time keep both changes.
 *
 * @throws ConfigError with every problem that a start would have, Failure, FileLockError, and what `change` throws
 */
export function changeFile(path: string, change: (text: string) => string): Promise<void> {
  return alone(path, async () => {
    const before = configTextAt(path)
    const after = change(before)
    assertUsable(path, before, after)
    if (after === before) return
    try {
      rewriteFile(path, after)
    } catch (error) {
      const remedy = 'check the permissions of the file and of its folder; nothing was changed'
      throw new Failure(`${path} cannot be written: ${errorCode(error) ?? errorText(error)}; ${remedy}`)
    }
  })
}

/** Runs while no other command changes the file. @throws FileLockError, and what `run` throws */
export async function alone<T>(path: string, run: () => Promise<T>): Promise<T> {
  const runtime = realRuntime()
  try {
    return await new FileLock(`${realPlace(path)}.lock`, runtime).during(run)
  } finally {
    await runtime.close()
  }
}

/** Names that stay there twice are shown where the file has them. @throws ConfigError with every problem that a start would refuse */
function assertUsable(path: string, before: string, after: string): void {
  const [old, now] = [readJson(before), readJson(after)]
  const isTwice = now.kind === 'value' && now.repeated.length > 0
  const repeated = isTwice && old.kind === 'value' ? old.repeated : []
  const context = { source: path, folder: dirname(path), env: process.env, servesHttp: false, repeated }
  resolveConfig(now.kind === 'value' ? now.value : undefined, context)
}

/** Without a terminal it names the command that starts them. */
export async function offerStart(servers: {
  readonly config: string | undefined
  readonly schema: string
  /** Undefined is all servers of the schema. */
  readonly name: string | undefined
}): Promise<void> {
  const what = servers.name === undefined ? 'the servers' : 'the server'
  if (!isAtTerminal())
    return print(`mcps-proxy doctor starts ${what} once, so that clients see the tools at once.`)
  const answer = await askLine(`Start ${what} once now, so that clients see the tools at once? [Y/n] `)
  if (/^n/i.test(answer)) return
  const { runDoctor } = await import('./doctor.js')
  await runDoctor({ ...servers, profile: undefined }, servers.name, true)
}

/** The store of the secrets of this user. */
export function ownSecrets(): SecretStore {
  return new SecretStore(ownPath(homeOf(process.env), 'secrets.json'), realRuntime())
}

/** A value that the keyring does not give counts as another one, so that its name stays with it. @throws SecretStoreError */
export async function storedSecrets(store: SecretStore): Promise<StoredSecrets> {
  const stored = new Map<string, string | undefined>()
  for (const { name } of store.names()) {
    const value = await store.get(name).catch((error: unknown) => {
      if (error instanceof SecretStoreError) return undefined
      throw error
    })
    stored.set(name, value)
  }
  return stored
}

/** Stores them, and then writes what refers to them; the store gives them up where that fails. */
export async function withSecretsStored<T>(
  store: SecretStore,
  secrets: readonly KeptSecret[],
  write: () => T | Promise<T>,
): Promise<T> {
  const stored: string[] = []
  try {
    for (const { name, value } of secrets) {
      await store.set(name, value)
      stored.push(name)
    }
    return await write()
  } catch (error) {
    for (const name of stored) await store.remove(name)
    throw error
  }
}
