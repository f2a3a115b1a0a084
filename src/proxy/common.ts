// The limits that all schemas of one gateway share, because they protect the machine.

import type { Configuration } from '../config/config.js'
import { ConfiguredLimits } from './configured-limits.js'
import { Emitter } from '../events/emitter.js'
import type { KeptStore } from '../kept/store.js'
import type { ProxyEvents } from '../events/proxy-events.js'
import type { ProxyOptions } from './proxy-options.js'
import { Taps } from './taps.js'
import { Unread } from './session/unread.js'
import type { Runtime } from '../runtime/runtime.js'
import type { KeptServers } from '../upstream/contracts/kept.js'
import { ProcessRoom } from '../upstream/pool/process-room.js'

/** What the proxies of one gateway share. */
export interface Common {
  readonly limits: ConfiguredLimits
  readonly taps: Taps
  readonly room: ProcessRoom
  readonly unread: Unread
  readonly events: Emitter<ProxyEvents>
  readonly kept: KeptServers
  /** Resolves when what servers said is written, where that is kept; for whoever made it. */
  close(): Promise<void>
}

/** For one proxy, or for the first of several. */
export function newCommon(
  config: Configuration,
  { tap, schema = 'default', limits: defaults, log = () => {}, on = {} }: ProxyOptions,
  runtime: Runtime,
  kept: KeptStore,
): Common {
  const events = new Emitter<ProxyEvents>(log)
  events.add(on)
  const limits = new ConfiguredLimits(config, defaults, log)
  const { session, upstream } = limits.inForce
  return {
    limits,
    taps: new Taps(tap, runtime, schema),
    room: new ProcessRoom(upstream.processesMax),
    unread: new Unread(session.unreadBytesMax),
    events,
    kept,
    close: () => kept.close(),
  }
}
