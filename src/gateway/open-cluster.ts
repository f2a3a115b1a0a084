// The instances of a gateway that share a store. Loaded only if there is a store.

import type { Configuration } from '../config/configuration.js'
import { ConfigError } from '../config/problems.js'
import type { LogSink, Runtime } from '../runtime/runtime.js'
import { Cluster } from '../store/cluster.js'
import { Sealer } from '../store/keys.js'
import { openRedisStore, StoreRefused } from '../store/redis-store.js'
import { type Store, StoreAway } from '../store/store.js'
import type { SessionPersistence } from '../store/session-persistence.js'
import { StoreBook } from '../store/store-book.js'
import type { SessionIds } from '../transports/http-server/session-ids.js'
import { Revocations } from './revocations.js'

/** This instance among those that share the store, and their common data about sessions. */
export interface OpenCluster {
  readonly cluster: Cluster
  readonly sessions: { readonly ids: SessionIds; readonly book: StoreBook }
  readonly revocations: Revocations
}

/** `given` replaces the store of the configuration. @throws ConfigError if the store cannot be used */
export async function openCluster(
  { server, source }: Configuration,
  given: Store | undefined,
  { label, ids, secrets, maxAgeMs }: SessionPersistence,
  { runtime, log }: { readonly runtime: Runtime; readonly log: LogSink },
): Promise<OpenCluster> {
  try {
    const store = given ?? (await openRedisStore(server.store ?? '', runtime))
    const cluster = new Cluster({ label, secrets, store, runtime, log })
    const book = new StoreBook(store, new Sealer(secrets, 'store', runtime), maxAgeMs)
    await cluster.start()
    const revocations = new Revocations(cluster, runtime)
    await revocations.read(server.tokens)
    cluster.onReturn = async () => void (await Promise.all([book.flush(), revocations.read()]))
    return { cluster, sessions: { ids, book }, revocations }
  } catch (error) {
    if (!(error instanceof StoreRefused || error instanceof StoreAway)) throw error
    const hint = error instanceof StoreRefused ? error.hint : 'check whether it runs'
    throw new ConfigError('CONFIG_INVALID', source, [{ path: 'server.store', problem: error.message, hint }])
  }
}
