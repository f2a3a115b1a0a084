// Opens the store of kept facts: in memory, and on disk where the options ask for it.

import { type Configuration, keptFolder } from '../config/config.js'
import { KeptStore } from '../kept/store.js'
import { limits as defaultLimits } from '../limits.js'
import type { ProxyOptions } from './proxy-options.js'
import type { Runtime } from '../runtime/runtime.js'

/** Opens the store; the files of a server are read when that is opened. */
export type Keeping = (runtime: Runtime) => KeptStore

/** Loads what reads and writes files only when they are asked for. */
export async function openKeeping(
  { source, schemas }: Configuration,
  { keep = false, limits = defaultLimits, log = () => {} }: ProxyOptions,
): Promise<Keeping> {
  if (keep === false) return () => new KeptStore(limits.kept)
  const [{ KeptDisk }, { FolderFiles }] = await Promise.all([
    import('../kept/disk.js'),
    import('../kept/folder-files.js'),
  ])
  const servers = [...schemas.values()].flatMap((schema) => schema.servers)
  return (runtime) => {
    const folder = keep === true ? keptFolder(runtime.env) : keep.folder
    const files = runtime.files?.(folder) ?? new FolderFiles(folder)
    return new KeptStore(
      limits.kept,
      new KeptDisk({ files, limits: limits.kept, runtime, log, source, servers }),
    )
  }
}
