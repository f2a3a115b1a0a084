// A keyring for tests of what is put there.

import type { Keyring } from '../../src/secrets/store.js'

/** A keyring in memory. */
export function memoryKeyring(fails = false): {
  readonly kept: Map<string, string>
  readonly open: () => Promise<Keyring>
} {
  const kept = new Map<string, string>()
  const keyring: Keyring = (name) => ({
    getPassword: async () => kept.get(name),
    setPassword: async (value) => {
      if (fails) throw new Error('locked')
      kept.set(name, value)
    },
    deleteCredential: async () => kept.delete(name),
  })
  return { kept, open: async () => keyring }
}
