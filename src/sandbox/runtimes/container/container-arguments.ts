// The arguments with which a container of a session is started, and with which a program is started in it.
//
// They are those that Docker and Podman both document.

import type { FlavorLimits } from '../../../upstream/contracts/sandbox-config.js'
import type { MachineSpec, MachineVolume } from '../../runtime.js'
import type { HostIdentity } from '../bubblewrap/identities.js'

/** Where the folder of the session is inside. */
export const CONTAINER_WORKSPACE = '/workspace'

/** By which containers of ours are found. */
export const LABEL = 'mcps-sandbox'

const MiB = 1024 * 1024

/** Of the memory: how much may be files in it. */
const TEMPORARY_PART = 1 / 4

/** Processes that are ours: the first one, what it starts, and who ends a call. */
const OWN_PROCESSES = 8

/**
 * The first program, which waits for whoever is left without a parent, and ends with its stdin, and with it everybody else.
 *
 * It says when programs can be started.
 */
const FIRST = 'exec 3<&0; cat <&3 >/dev/null & exec 3<&-; echo ready; wait'

/** What differs from container to container. */
export interface ContainerTerms {
  readonly name: string
  /** The service that it belongs to. */
  readonly owner: string
  readonly image: string
  /** On the host. */
  readonly sessionFolder: string
  readonly identity: HostIdentity
  /** Whether the engine is Podman without root, which numbers users anew. */
  readonly keepsUser: boolean
  readonly spec: Pick<MachineSpec, 'flavor' | 'network' | 'env'>
  readonly volumes: readonly MachineVolume[]
}

export function runArguments(terms: ContainerTerms): string[] {
  const { name, owner, image, identity, keepsUser, spec } = terms
  return [
    ['run', '--rm', '--interactive', '--pull', 'never', '--name', name, '--label', `${LABEL}=${owner}`],
    [
      '--hostname',
      'sandbox',
      '--network',
      spec.network.kind === 'host' ? 'host' : 'none',
      '--log-driver',
      'none',
    ],
    ['--read-only', '--cap-drop', 'ALL', '--security-opt', 'no-new-privileges'],
    ['--user', `${identity.uid}:${identity.gid}`, ...(keepsUser ? ['--userns', 'keep-id'] : [])],
    limits(spec.flavor),
    folders(terms),
    ['--workdir', CONTAINER_WORKSPACE, '--entrypoint', 'sh', image, '-c', FIRST],
  ].flat()
}

/** Values of variables stand in the environment of the command, where other users do not see them. */
export function execArguments(
  name: string,
  variables: Iterable<string>,
  command: readonly string[],
): string[] {
  const named = [...variables].flatMap((variable) => ['--env', variable])
  return ['exec', '--interactive', ...named, name, ...command]
}

/** No limits of single processes: an engine that is given one forgets those of its own configuration. */
function limits({ cpus, memoryMiB, pids }: FlavorLimits): string[] {
  return [
    ['--memory', `${memoryMiB}m`, '--memory-swap', `${memoryMiB}m`, '--cpus', String(cpus)],
    ['--pids-limit', String(pids + OWN_PROCESSES)],
  ].flat()
}

function folders({ sessionFolder, spec, volumes }: ContainerTerms): string[] {
  const bytes = Math.floor(spec.flavor.memoryMiB * TEMPORARY_PART) * MiB
  const session = { hostPath: sessionFolder, guestPath: CONTAINER_WORKSPACE, isReadOnly: false }
  return [
    '--tmpfs',
    `/tmp:rw,nosuid,nodev,size=${bytes},mode=1777`,
    ...[session, ...volumes].flatMap((volume) => ['--mount', mount(volume)]),
  ]
}

/** A line of comma-separated values. */
function mount({ hostPath, guestPath, isReadOnly }: MachineVolume): string {
  return ['type=bind', `source=${hostPath}`, `target=${guestPath}`, ...(isReadOnly ? ['readonly'] : [])]
    .map((value) => (/[",]/.test(value) ? `"${value.replaceAll('"', '""')}"` : value))
    .join(',')
}
