// Which kept files are removed: old ones, and those of servers that are no longer configured.

import type { KeptLimits } from '../limits.js'
import type { KeptFileEntry } from '../runtime/runtime.js'
import { type KeptName, readKeptName } from './names.js'

/** How the name of a file ends before all of it is written. */
export const temporaryEnding = '.tmp'

/** Nobody writes for so long. */
const TEMPORARY_MS_MAX = 3_600_000

export interface TidyRules {
  readonly limits: KeptLimits
  /** Milliseconds since 1970. */
  readonly now: number
  /** Whether it belongs to a server that the configuration does not have any more. */
  isOrphan(name: KeptName): boolean
}

/** Names of files to remove; whatever is not ours stays. */
export function untidy(entries: readonly KeptFileEntry[], rules: TidyRules): string[] {
  const { limits, now } = rules
  const gone = new Set<string>()
  const kept: KeptFileEntry[] = []
  for (const entry of entries) {
    const name = readKeptName(entry.name)
    const ageMs = now - entry.modifiedMs
    if (name === undefined) {
      if (entry.name.endsWith(temporaryEnding) && ageMs > TEMPORARY_MS_MAX) gone.add(entry.name)
    } else if (ageMs > limits.unusedMsMax || rules.isOrphan(name)) gone.add(entry.name)
    else kept.push(entry)
  }
  return [...gone, ...beyond(kept, limits)]
}

/** What there is no room for: the files that were not used for longest. */
function beyond(entries: readonly KeptFileEntry[], { filesMax, folderBytesMax }: KeptLimits): string[] {
  let bytes = 0
  return entries
    .toSorted((one, other) => other.modifiedMs - one.modifiedMs)
    .filter((entry, at) => {
      bytes += entry.bytes
      return at >= filesMax || bytes > folderBytesMax
    })
    .map(({ name }) => name)
}
