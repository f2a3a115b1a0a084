// How commands change the configuration file: one at a time, and never to a text that a start would refuse.
// `import` and `add` also offer the secret store, and one start, so that the first list has the new tools.

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
 * Runs a command that changes the configuration file: the named file, or the file that a start would find. If
 * the file cannot be changed, the command ends with exit code 2.
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
 * Writes the changed text, unless a start would refuse it. Concurrent commands keep each other's changes.
 *
 * @throws ConfigError with every problem of a start, Failure, FileLockError, and the errors of `change`
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

/** Runs while no other command changes the file. @throws FileLockError, and the errors of `run` */
export async function alone<T>(path: string, run: () => Promise<T>): Promise<T> {
  const runtime = realRuntime()
  try {
    return await new FileLock(`${realPlace(path)}.lock`, runtime).during(run)
  } finally {
    await runtime.close()
  }
}

/** Names that are still there twice are shown at their places. @throws ConfigError with every problem of a start */
function assertUsable(path: string, before: string, after: string): void {
  const [old, now] = [readJson(before), readJson(after)]
  const isTwice = now.kind === 'value' && now.repeated.length > 0
  const repeated = isTwice && old.kind === 'value' ? old.repeated : []
  const context = { source: path, folder: dirname(path), env: process.env, servesHttp: false, repeated }
  resolveConfig(now.kind === 'value' ? now.value : undefined, context)
}

/** Offers to start the servers once. Without a terminal, names the command for that. */
export async function offerStart(servers: {
  readonly config: string | undefined
  readonly schema: string
  /** Undefined means all servers of the schema. */
  readonly name: string | undefined
}): Promise<void> {
  const what = servers.name === undefined ? 'the servers' : 'the server'
  if (!isAtTerminal())
    return print(`mcps-proxy doctor starts ${what} once, so that clients see the tools immediately.`)
  const answer = await askLine(`Start ${what} once now, so that clients see the tools immediately? [Y/n] `)
  if (/^n/i.test(answer)) return
  const { runDoctor } = await import('./doctor.js')
  await runDoctor({ ...servers, profile: undefined }, servers.name, true)
}

export function ownSecrets(): SecretStore {
  return new SecretStore(ownPath(homeOf(process.env), 'secrets.json'), realRuntime())
}

/** A value that the keyring does not return counts as different, so its name stays in use. @throws SecretStoreError */
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

/** Stores the secrets and calls `write`; if either fails, the stored secrets are removed again. */
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
