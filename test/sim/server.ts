// A scripted server of either kind, as the rest of a simulation sees it.

import type { FaultName } from './matrix.js'
import type { Milestone } from './script-host.js'
import type { ServerScript } from './server-script.js'
import type { Random } from './random.js'
import type { ServerFacts } from './server-facts.js'

export interface SimServer {
  readonly facts: ServerFacts
  /** The instances that are up: processes, or sessions. */
  readonly scripts: readonly ServerScript[]
  /** Bytes that the proxy has written to it and it has not read. */
  readonly unread: number
  /** Bytes that it has written and the proxy has not read. */
  readonly unheard: number
  /** Makes a fault happen now, or at the next occasion. */
  strike(fault: FaultName, random: Random): void
  /** Everything that lasts is over. */
  mend(): void
  /** Hears of what its instances do. */
  onMilestone: (milestone: Milestone, instance: string) => void
}
