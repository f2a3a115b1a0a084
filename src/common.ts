// What all schemas of one gateway have in common: the limits that protect a machine
// hold for all of them together.

import { limits as defaultLimits } from './limits.js'
import { ProcessRoom } from './process-room.js'
import type { ProxyOptions } from './proxy-options.js'
import { Taps } from './taps.js'
import { Unread } from './unread.js'
import type { Runtime } from './upstream/host.js'

/** What a proxy may share with others. */
export interface Common {
  readonly taps: Taps
  readonly room: ProcessRoom
  readonly unread: Unread
}

/** For one proxy, or for the first of several. */
export function newCommon(
  { tap, schema = 'default', limits = defaultLimits }: ProxyOptions,
  runtime: Runtime,
): Common {
  return {
    taps: new Taps(tap, runtime, schema),
    room: new ProcessRoom(limits.upstream.processesMax),
    unread: new Unread(limits.session.unreadBytesMax),
  }
}
