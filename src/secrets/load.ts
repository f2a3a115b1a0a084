// Reads a configuration with the secrets that it refers to.

import type { Configuration } from '../config/configuration.js'
import { NotedReferences, type References } from '../config/references.js'
import type { Fetching } from './resolve.js'

export type { AskInput, Fetching } from './resolve.js'

/**
 * Reads a configuration, fetches its secrets, and reads it again with them. A server whose secret cannot be fetched is
 * unavailable, and its reason says why.
 *
 * @throws what `read` throws
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
