// The control groups of the machines of all services, and which of them nobody wants any more.
//
// A group is empty when its machine has ended, and also between being made and being given its first process. So the name
// of a group tells the process that has made it, and only what a dead process has left is removed.

import process from 'node:process'
import type { Runtime } from '../../../runtime/runtime.js'
import { hasOwnerEnded, ownerInName } from '../../process-owner.js'
import type { CgroupPlaces } from './cgroup-places.js'
import { neighbouringGroups, removeGroup } from './machine-group.js'

/** Nobody waits long for the group of a service that is dead: it is in nobody's way. */
const SWEEP_AGAIN_MS = [2, 5, 10, 20, 50]

/** The group of a machine of this process; `service` is the name of its folder. */
export function machineGroupName(service: string, machine: number): string {
  return `mcps-sandbox-${service}-${ownerInName(process.pid)}-${machine}`
}

/** Removes the groups of services that are dead: those in `dead`, and those whose process has ended. */
export async function sweepGroups(
  places: CgroupPlaces,
  dead: ReadonlySet<string>,
  runtime: Pick<Runtime, 'setTimer'>,
): Promise<void> {
  const left = (await neighbouringGroups(places)).filter(({ name }) => {
    // Older versions of this program named no process.
    const [, service = '', owner = ''] = /^mcps-sandbox-([\da-f]{16})-(?:([\d.-]+)-)?\d+$/.exec(name) ?? []
    return dead.has(service) || hasOwnerEnded(owner)
  })
  await Promise.all(left.map(({ path }) => removeGroup(path, runtime, SWEEP_AGAIN_MS)))
}
