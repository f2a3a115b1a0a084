// The kept facts of one server, as text for `--check`.

import type { KeptLimits } from '../limits.js'
import { listKinds } from '../mcp/lists.js'
import type { KeptFiles } from '../runtime/runtime.js'
import type { ServerConfig } from '../upstream/contracts/server-config.js'
import { type KeptSets, decodeKept } from './format.js'
import type { KeptNames } from './names.js'

/** Where to look. */
export interface KeptPlace {
  readonly files: KeptFiles
  readonly limits: KeptLimits
  /** Undefined where nothing was ever kept. */
  readonly names: KeptNames | undefined
}

/** A summary in words, without text of the server; undefined when nothing is kept. */
export function keptInWords(config: ServerConfig, { files, limits, names }: KeptPlace): string | undefined {
  if (names === undefined) return undefined
  const name = names.file(config)
  const found = files.read(name, limits.fileBytesMax)
  if (found === undefined) return undefined
  const sets = decodeKept(found.bytes, names.seal(name))
  if (sets === undefined) return 'the file is damaged and not used'
  const used = `last used ${new Date(found.modifiedMs).toISOString().slice(0, 10)}`
  return [contents(sets), size(found.bytes.length), used].join(', ')
}

function contents(sets: KeptSets): string {
  const last = [...sets.values()].at(-1)
  const silent = last?.answered === false ? 'did not answer the last time' : []
  return [silent, counts(sets), sets.size > 1 ? `${sets.size} kinds of clients` : []].flat().join(', ')
}

/** Where clients of different kinds are shown different lists, the longest counts. */
function counts(sets: KeptSets): string[] {
  return listKinds.flatMap((kind) => {
    const lengths = [...sets.values()].map(({ description }) => description?.lists.get(kind)?.length ?? 0)
    const most = Math.max(0, ...lengths)
    if (most === 0 && kind !== 'tools') return []
    const one = kind === 'templates' ? 'resource template' : kind.slice(0, -1)
    return [`${most} ${one}${most === 1 ? '' : 's'}`]
  })
}

function size(bytes: number): string {
  return bytes < 1024 ? `${bytes} B` : `${Math.ceil(bytes / 1024)} KiB`
}
