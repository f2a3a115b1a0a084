// Whether all clients of a run go on.

import { setTimeout as delay } from 'node:timers/promises'
import { countsOf } from './ledger.js'
import type { LedgerClient } from './ledger-clients.js'

/** Each client has so many more calls answered. */
const MORE = 3
/** Longer than a client of a busy machine needs for them. */
const WAIT_MS = 45_000

/** Waits until each client has more calls answered than it had. */
export async function goesOn(
  clients: readonly LedgerClient[],
  { said }: { readonly said: string },
): Promise<void> {
  const wanted = new Map(clients.map((client) => [client, client.answered + MORE]))
  const behind = (): LedgerClient[] => clients.filter((client) => client.answered < (wanted.get(client) ?? 0))
  const endsAt = performance.now() + WAIT_MS
  while (behind().length > 0) {
    if (performance.now() > endsAt) {
      const lost = behind().map(({ name, calls }) => `${name}: ${JSON.stringify(countsOf(calls))}`)
      throw new Error(`${lost.length} of ${clients.length} clients do not go on\n${lost.join('\n')}\n${said}`)
    }
    await delay(20)
  }
}
