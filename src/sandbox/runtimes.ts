// The list of runtimes, and the choice among them.
//
// `auto` selects the first usable one. If no runtime is usable, the service does not start, and names a remedy
// for each.

import { homedir } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'
import { programFolder } from '../folder.js'
import type { LogSink, Runtime } from '../runtime/runtime.js'
import type { SandboxRuntimeName, SandboxSettings } from '../upstream/contracts/sandbox-config.js'
import { RuntimeUnusable, type SandboxRuntime } from './runtime.js'
import { BubblewrapDriver } from './runtimes/bubblewrap/bubblewrap.js'
import { type HostIdentity, hostIdentity } from './runtimes/identities.js'
import { MicrosandboxServerRuntime } from './runtimes/microsandbox-server.js'
import { ContainerDriver, type TemplateImage } from './runtimes/container.js'
import { HostRuntime, type MachineDriver } from './runtimes/host-runtime.js'
import { StateFolder } from './state-folder.js'

export interface RuntimeSurroundings extends Partial<
  Pick<SandboxSettings, 'serverUrl' | 'apiKey' | 'runAs' | 'network' | 'programs'>
> {
  readonly runtime: Runtime
  readonly log: LogSink
  /** The folder for files of sessions. Default: `/var/lib/mcps-proxy/sandbox` for root, else a folder in the home. */
  readonly stateFolder: string | undefined
  readonly templates?: readonly TemplateImage[]
  /** The folder of the compiled program with the bundle of the agent. Default: the folder of this program. */
  readonly programFolder?: string
}

export const automaticRuntimeIds: readonly RuntimeId[] = ['bubblewrap', 'container']

export const runtimeIds: readonly RuntimeId[] = [...automaticRuntimeIds, 'microsandbox-server']

export type RuntimeId = Exclude<SandboxRuntimeName, 'auto'>

export interface ProbedRuntime {
  readonly runtime: SandboxRuntime
  /** How the runtime enforces limits, from its probe. */
  readonly limits: string
}

/** No runtime can be used. The message has the reason and the remedy of each. */
export class NoRuntimeError extends Error {
  override readonly name = 'NoRuntimeError'

  constructor(reasons: readonly string[]) {
    super(['no sandbox runtime can be used', ...reasons].join('\n'))
  }
}

/** Returns the runtime with that id, or for `auto` the first usable one. @throws NoRuntimeError */
export async function chooseRuntime(
  id: RuntimeId | 'auto',
  around: RuntimeSurroundings,
): Promise<ProbedRuntime> {
  const reasons: string[] = []
  for (const candidate of id === 'auto' ? automaticRuntimeIds : [id])
    try {
      return await probedRuntime(candidate, around)
    } catch (error) {
      if (!(error instanceof RuntimeUnusable)) throw error
      reasons.push(`${candidate}: ${error.message}`)
    }
  throw new NoRuntimeError(reasons)
}

/** @throws RuntimeUnusable */
export async function probedRuntime(id: RuntimeId, around: RuntimeSurroundings): Promise<ProbedRuntime> {
  const identity = around.runAs === undefined ? undefined : hostIdentity(around.runAs)
  const runtime = makeRuntime(id, around, identity)
  if (around.network?.kind === 'allow' && !runtime.canLimitHosts)
    throw new RuntimeUnusable(
      'it cannot hold programs to the hosts of network.allow',
      'use the runtime bubblewrap, or set network to "none"',
    )
  return { runtime, limits: await runtime.probe() }
}

function makeRuntime(
  id: RuntimeId,
  around: RuntimeSurroundings,
  runAs: HostIdentity | undefined,
): SandboxRuntime {
  const { runtime, log, stateFolder, programFolder: program = programFolder, programs = [] } = around
  const onHost = (driver: MachineDriver): SandboxRuntime =>
    new HostRuntime(
      driver,
      runtime,
      new StateFolder(stateFolder ?? defaultStateFolder(), runtime, programs),
      runAs,
    )
  switch (id) {
    case 'microsandbox-server':
      return new MicrosandboxServerRuntime(around.serverUrl, around.apiKey, log)
    case 'bubblewrap':
      return onHost(new BubblewrapDriver(runtime, log, join(program, 'sandbox/guest/agent.js'), programs))
    case 'container':
      return onHost(new ContainerDriver(runtime, around.templates ?? [], programs))
  }
}

function defaultStateFolder(): string {
  return process.getuid?.() === 0 ? '/var/lib/mcps-proxy/sandbox' : join(homedir(), '.mcps-proxy', 'sandbox')
}
