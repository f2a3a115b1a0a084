// Reads a configuration with the secrets to which it refers.

import type { Configuration } from '../config/configuration.js'
import { NotedReferences, type References } from '../config/references.js'
import type { Fetching } from './resolve.js'

export type { AskInput, Fetching } from './resolve.js'

/**
 * Reads a configuration, fetches its secrets, and reads it again with their values. If a secret cannot be
 * fetched, its server is unavailable, with the reason.
 *
 * @throws every error of `read`
 */
export async function withSecrets(
  read: (references: References) => Configuration,
  { schema, ...fetching }: Fetching & { readonly schema?: string | undefined },
): Promise<Configuration> {
  const references = new NotedReferences(schema)
  for (;;) {
    const config = read(references)
    if (references.pending.length === 0) return config
    const { fetchPending } = await import('./resolve.js')
    await fetchPending(references, fetching)
  }
}
