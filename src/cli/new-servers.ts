// The offers of `import` and `add` for new servers: the store for their secrets, and one start, so that the first list of a client has
// their tools.

import { askLine, isAtTerminal } from '../ask/terminal.js'
import { say } from './console.js'
import { type SecretStore, SecretStoreError } from '../secrets/store.js'
import type { KeptSecret, StoredSecrets } from './clients/secrets.js'

/** Without a terminal it names the command that starts them. */
export async function offerStart(servers: {
  readonly config: string | undefined
  readonly schema: string
  /** Undefined is all servers of the schema. */
  readonly name: string | undefined
}): Promise<void> {
  const what = servers.name === undefined ? 'the servers' : 'the server'
  if (!isAtTerminal()) {
    await say('stdout', `mcps-proxy doctor starts ${what} once, so that clients see the tools at once.\n`)
    return
  }
  const answer = await askLine(`Start ${what} once now, so that clients see the tools at once? [Y/n] `)
  if (/^n/i.test(answer)) return
  const { runDoctor } = await import('./doctor.js')
  await runDoctor({ ...servers, profile: undefined }, servers.name, true)
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
