// The limits of a machine as a whole: a scope of systemd, which is a control group of version 2.
//
// `systemd-run --scope` asks the manager of the system or of the user for a group with limits, moves itself
// into it, and becomes the command. So the limits work for ordinary users too, and a machine stays inside the
// unit of its service.

import type { FlavorLimits } from '../../../upstream/contracts/sandbox-config.js'
import { type FSWatcher, watch } from 'node:fs'
import { join } from 'node:path'
import process from 'node:process'
import { readProcFile } from '../../../runtime/process-table.js'
import type { Runtime } from '../../../runtime/runtime.js'
import { programOutput, systemEnvironment } from '../../host-program.js'
import { findProgram } from '../../../runtime/path-folders.js'

const CGROUPS = '/sys/fs/cgroup'

/** Processes that are not programs of the session: bwrap, the first process inside, the threads of the agent. */
export const OWN_PROCESSES = 24

const PROBE_MS = 10_000

/** Variables by which systemd-run finds the systemd of a user. */
const BUS_VARIABLES = ['XDG_RUNTIME_DIR', 'DBUS_SESSION_BUS_ADDRESS'] as const

const probeFlavor: FlavorLimits = { cpus: 1, memoryMiB: 64, pids: 40, diskGiB: 1 }

/** Prints the limits that the kernel applies to the group in which the script runs. */
const PROBE_SCRIPT = `group=${CGROUPS}$(sed -n 's/^0:://p' /proc/self/cgroup); cat "$group/memory.max" "$group/pids.max"`

export interface Scopes {
  readonly program: string
  readonly env: Readonly<Record<string, string>>
}

/** Resolves with undefined if systemd makes no scopes, or the kernel does not apply their limits. */
export async function findScopes(
  runtime: Runtime,
  name: string,
  programs: readonly string[],
): Promise<Scopes | undefined> {
  const program = findProgram('systemd-run', programs)
  if (program === undefined) return undefined
  const env: Record<string, string> = { ...systemEnvironment }
  for (const each of BUS_VARIABLES) if (runtime.env[each] !== undefined) env[each] = runtime.env[each]
  const scopes = { program, env }
  const [command, ...args] = scopeCommand(scopes, name, probeFlavor)
  const { code, stdout } = await programOutput(
    runtime,
    { command, args: [...args, 'sh', '-c', PROBE_SCRIPT], cwd: '/', env: scopes.env },
    PROBE_MS,
  )
  const held = `${probeFlavor.memoryMiB * 1024 * 1024}\n${probeFlavor.pids + OWN_PROCESSES}\n`
  return code === 0 && stdout === held ? scopes : undefined
}

/** The share of a machine in scarce processor time. The share of the service is 100. */
const CPU_WEIGHT = 10

/** The command and its arguments before those of the limited program. */
export function scopeCommand({ program }: Scopes, name: string, flavor: FlavorLimits): [string, ...string[]] {
  const properties = [
    `MemoryMax=${flavor.memoryMiB}M`,
    'MemorySwapMax=0',
    `TasksMax=${flavor.pids + OWN_PROCESSES}`,
    `CPUQuota=${flavor.cpus * 100}%`,
    `CPUWeight=${CPU_WEIGHT}`,
  ]
  return [
    program,
    ...(process.getuid?.() === 0 ? [] : ['--user']),
    '--scope',
    '--quiet',
    '--collect',
    `--unit=${name}`,
    ...properties.flatMap((property) => ['--property', property]),
    '--',
  ]
}

/** The folder of the group of a process that systemd-run has become. Undefined if the process has no such group. */
export function groupOf(pid: number): string | undefined {
  const [, path] = /^0::(\/.*\.scope)$/m.exec(readProcFile(`/proc/${pid}/cgroup`)) ?? []
  return path === undefined ? undefined : join(CGROUPS, path)
}

/**
 * Counts the processes of a group that the kernel has ended for lack of memory. systemd may then remove the
 * whole group, so each change is read immediately.
 */
export class MemoryKills {
  readonly #file: string | undefined
  readonly #watcher: FSWatcher | undefined
  #count = 0

  /** `group` is the folder of the group. Without one, nothing is counted. */
  constructor(group: string | undefined) {
    this.#file = group && join(group, 'memory.events')
    this.#watcher = this.#file === undefined ? undefined : this.#watch(this.#file)
  }

  get count(): number {
    if (this.#file === undefined) return 0
    const [, kills = '0'] = /^oom_kill (\d+)$/m.exec(readProcFile(this.#file)) ?? []
    this.#count = Math.max(this.#count, Number(kills))
    return this.#count
  }

  close(): void {
    this.#watcher?.close()
  }

  /** Undefined if the kernel has no more watches. The count is then read on demand. */
  #watch(file: string): FSWatcher | undefined {
    try {
      return watch(file, { persistent: false }, () => void this.count).on('error', () => undefined)
    } catch {
      return undefined
    }
  }
}
