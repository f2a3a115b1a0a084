// What all schemas of one gateway share: the runtime, the limits that protect the machine, the taps, and kept facts.

import { type Configuration, keptFolder } from '../config/config.js'
import { ConfiguredLimits } from './configured-limits.js'
import { Emitter } from '../events/emitter.js'
import { KeptStore } from '../kept/store.js'
import { limits as defaultLimits } from '../limits.js'
import type { ProxyEvents } from '../events/proxy-events.js'
import type { ProxyOptions } from './proxy-options.js'
import { Taps } from './taps.js'
import { Unread } from './session/unread.js'
import { realRuntime } from '../real-runtime.js'
import type { LogSink, Runtime } from '../runtime/runtime.js'
import type { KeptServers } from '../upstream/contracts/kept.js'
import { ProcessRoom } from '../upstream/pool/process-room.js'

/** What the proxies of one gateway share. */
export interface Common {
  readonly runtime: Runtime
  readonly log: LogSink
  readonly limits: ConfiguredLimits
  readonly taps: Taps
  readonly room: ProcessRoom
  readonly unread: Unread
  readonly events: Emitter<ProxyEvents>
  readonly kept: KeptServers
  /** For whoever opened it, when no server runs any more. Resolves when what servers said is written, where that is kept. */
  close(): Promise<void>
}

/** For one proxy, or for all of a gateway. A runtime that was not given is closed with it. */
export async function openCommon(config: Configuration, options: ProxyOptions): Promise<Common> {
  const { tap, limits: defaults, log = () => {}, on = {} } = options
  const own = realRuntime(log)
  const runtime = options.runtime ?? own
  const kept = await openKept(config, options, runtime)
  const events = new Emitter<ProxyEvents>(log)
  events.add(on)
  const limits = new ConfiguredLimits(config, defaults, log)
  const { session, upstream } = limits.inForce
  return {
    runtime,
    log,
    limits,
    taps: new Taps(tap, runtime),
    room: new ProcessRoom(upstream.processesMax),
    unread: new Unread(session.unreadBytesMax),
    events,
    kept,
    close: async () => {
      await kept.close()
      await own.close()
    },
  }
}

/** The store of kept facts: in memory, and on disk where the options ask for it. What reads and writes files is loaded only then. */
export async function openKept(
  { source, schemas }: Configuration,
  { keep = false, limits = defaultLimits, log = () => {} }: ProxyOptions,
  runtime: Runtime,
): Promise<KeptStore> {
  if (keep === false) return new KeptStore(limits.kept)
  const [{ KeptDisk }, { FolderFiles }] = await Promise.all([
    import('../kept/disk.js'),
    import('../kept/folder-files.js'),
  ])
  const servers = [...schemas.values()].flatMap((schema) => schema.servers)
  const folder = keep === true ? keptFolder(runtime.env) : keep.folder
  const files = runtime.files?.(folder) ?? new FolderFiles(folder)
  const disk = new KeptDisk({ files, limits: limits.kept, runtime, log, source, servers })
  return new KeptStore(limits.kept, disk)
}
