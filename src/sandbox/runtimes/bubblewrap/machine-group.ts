// The control group of one machine: its memory, its processes and its share of the processors.

import { readFileSync } from 'node:fs'
import { mkdir, readdir, rmdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Runtime } from '../../../runtime/runtime.js'
import type { MachineFlavor } from '../../runtime.js'
import type { CgroupPlaces } from './cgroup-places.js'

/** How often each limit was reached since the machine began. */
export interface LimitCounts {
  readonly memory: number
  readonly processes: number
}

/** bwrap's two processes and the threads of the agent, which are none of the session's. */
export const OWN_PROCESSES = 24

/** A group is busy for a moment after its last process was killed. */
const REMOVE_AGAIN_MS = [2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000]

/** Of the memory, what may lie in buffers of sockets besides. */
const SOCKET_SHARE = 1 / 8

const PERIOD_US = 100_000

const MiB = 1024 * 1024

/** Control groups of one machine, one for each kind of limit where the system wants it so. */
export class MachineGroup {
  readonly #places: CgroupPlaces
  readonly #name: string
  readonly #runtime: Runtime

  constructor(places: CgroupPlaces, name: string, runtime: Runtime) {
    this.#places = places
    this.#name = name
    this.#runtime = runtime
  }

  /** @throws when it cannot be made, or not be given its limits */
  async make(flavor: MachineFlavor): Promise<void> {
    for (const folder of this.#folders()) await mkdir(folder)
    for (const [path, value, isNeeded] of settings(this.#places, this.#name, flavor)) {
      try {
        await writeFile(path, value)
      } catch (error) {
        if (isNeeded) throw error
      }
    }
  }

  /** @throws when they are gone */
  async add(pids: readonly number[]): Promise<void> {
    for (const folder of this.#folders())
      for (const pid of pids) await writeFile(join(folder, 'cgroup.procs'), String(pid))
  }

  counts(): LimitCounts {
    const name = this.#name
    switch (this.#places.kind) {
      case 'v1':
        return {
          memory: counted(join(this.#places.memory, name, 'memory.oom_control'), 'oom_kill'),
          processes: counted(join(this.#places.pids ?? '', name, 'pids.events'), 'max'),
        }
      case 'v2':
        return {
          memory: counted(join(this.#places.folder, name, 'memory.events'), 'oom_kill'),
          processes: counted(join(this.#places.folder, name, 'pids.events'), 'max'),
        }
    }
  }

  /** Once nobody is in it any more. */
  async remove(): Promise<void> {
    for (const folder of this.#folders()) await removeGroup(folder, this.#runtime, REMOVE_AGAIN_MS)
  }

  #folders(): string[] {
    return parentsOf(this.#places).map((parent) => join(parent, this.#name))
  }
}

/** Removes a group in which nobody is; while it is busy it is tried again after each wait, and left where it stays so. */
export async function removeGroup(
  path: string,
  runtime: Pick<Runtime, 'setTimer'>,
  [waitMs, ...later]: readonly number[],
): Promise<void> {
  try {
    await rmdir(path)
  } catch (error) {
    if (waitMs === undefined || !isBusy(error)) return
    await new Promise<void>((resolve) => void runtime.setTimer(waitMs, resolve))
    await removeGroup(path, runtime, later)
  }
}

function isBusy(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'EBUSY'
}

/** The groups beside which machines have theirs, each with its path. */
export async function neighbouringGroups(
  places: CgroupPlaces,
): Promise<readonly { readonly name: string; readonly path: string }[]> {
  const lists = await Promise.all(
    parentsOf(places).map(async (parent) =>
      (await readdir(parent)).map((name) => ({ name, path: join(parent, name) })),
    ),
  )
  return lists.flat()
}

function parentsOf(places: CgroupPlaces): string[] {
  if (places.kind === 'v2') return [places.folder]
  const parents = [places.memory, places.pids, places.cpu].filter((place) => place !== undefined)
  return [...new Set(parents)]
}

/** What is written where, and whether the machine must not run without it. */
function settings(
  places: CgroupPlaces,
  name: string,
  { cpus, memoryMiB, pids }: MachineFlavor,
): (readonly [path: string, value: string, isNeeded: boolean])[] {
  const memory = String(memoryMiB * MiB)
  const buffers = String(memoryMiB * MiB * SOCKET_SHARE)
  const processes = String(pids + OWN_PROCESSES)
  switch (places.kind) {
    case 'v1':
      return [
        [join(places.memory, name, 'memory.limit_in_bytes'), memory, true],
        // With swap; the kernel may count none.
        [join(places.memory, name, 'memory.memsw.limit_in_bytes'), memory, false],
        // Version 1 counts buffers of sockets apart, and only where they have a limit; all of the host share what there is.
        [join(places.memory, name, 'memory.kmem.tcp.limit_in_bytes'), buffers, false],
        ...(places.pids === undefined
          ? []
          : ([[join(places.pids, name, 'pids.max'), processes, true]] as const)),
        ...(places.cpu === undefined
          ? []
          : ([
              [join(places.cpu, name, 'cpu.cfs_period_us'), String(PERIOD_US), false],
              [join(places.cpu, name, 'cpu.cfs_quota_us'), String(cpus * PERIOD_US), false],
            ] as const)),
      ]
    case 'v2':
      return [
        [join(places.folder, name, 'memory.max'), memory, true],
        [join(places.folder, name, 'memory.swap.max'), '0', false],
        [join(places.folder, name, 'pids.max'), processes, false],
        [join(places.folder, name, 'cpu.max'), `${cpus * PERIOD_US} ${PERIOD_US}`, false],
      ]
  }
}

/** The number behind a word in a file of lines. */
function counted(path: string, word: string): number {
  try {
    const lines = readFileSync(path, 'latin1').split('\n')
    const line = lines.find((each) => each.startsWith(`${word} `))
    return Number(line?.slice(word.length + 1) ?? 0)
  } catch {
    return 0
  }
}
