// The secrets of new servers, which the store gets when the configuration gets references to them.

import { type SecretStore, SecretStoreError } from '../secrets/store.js'
import type { KeptSecret, StoredSecrets } from './clients/secrets.js'

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
