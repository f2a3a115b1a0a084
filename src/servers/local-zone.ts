// The zone that the tool descriptions call local.
//
// A proxy that starts waits for `tools/list` too, and the first `Intl.DateTimeFormat`
// of a process costs as much as the rest of the answer together. So the zone is
// looked up without one where that is possible.

import { readlinkSync } from 'node:fs'
import { isWellSpelled } from './zone-name.js'
import { openZone } from './zone.js'

/** Whether the name is one that the tools accept. */
export function isKnownZone(name: string): boolean {
  return isListed(name) || openZone(name).kind === 'zone'
}

/** The zone that the machine is set to, `UTC` when that cannot be told; takes the `TZ` variable. */
export function systemZone(variable: string | undefined): string {
  return quickZone(variable ?? '') ?? engineZone() ?? 'UTC'
}

function quickZone(variable: string): string | undefined {
  if (variable !== '') return isKnownZone(variable) ? variable : undefined
  const linked = linkedZone()
  return linked !== undefined && isWellSpelled(linked) ? linked : undefined
}

/** For some values of the variable the engine has no zone, whatever its types say. */
function engineZone(): string | undefined {
  const name: string | undefined = new Intl.DateTimeFormat().resolvedOptions().timeZone
  return name !== undefined && isKnownZone(name) ? name : undefined
}

/** The list is cheap, but has neither links nor `UTC`. */
function isListed(name: string): boolean {
  return name === 'UTC' || Intl.supportedValuesOf('timeZone').includes(name)
}

/** Where POSIX systems keep their setting: a link into the zone database. */
function linkedZone(): string | undefined {
  try {
    return /\/zoneinfo\/(.+)$/.exec(readlinkSync('/etc/localtime'))?.[1]
  } catch {
    return undefined
  }
}
