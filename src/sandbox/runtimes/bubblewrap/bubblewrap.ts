// The runtime that needs only bubblewrap: namespaces of Linux, a filter of system calls, and limits.

import { randomBytes } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import type { LogSink, Runtime } from '../../../runtime/runtime.js'
import { type ProgramOutput, programOutput, systemEnvironment } from '../../host-program.js'
import { type MachineSpec, MachineStartError, RuntimeUnusable } from '../../runtime.js'
import { findBwrap } from './bwrap.js'
import { findInterpreter } from './guest-interpreter.js'
import type { HostIdentity } from '../identities.js'
import type { HostMachine, MachineDriver, MachinePlace } from '../host-runtime.js'
import { type BubblewrapHost, startMachine } from './machine.js'
import { findScopes } from './scope.js'

export class BubblewrapDriver implements MachineDriver {
  readonly id = 'bubblewrap'
  readonly isolation = 'namespaces'
  readonly canLimitHosts = true
  readonly #runtime: Runtime
  readonly #log: LogSink
  readonly #agentFile: string
  readonly #programs: readonly string[]
  #host: BubblewrapHost | undefined

  constructor(runtime: Runtime, log: LogSink, agentFile: string, programs: readonly string[]) {
    this.#runtime = runtime
    this.#log = log
    this.#agentFile = agentFile
    this.#programs = programs
  }

  async probe(identity: HostIdentity | undefined): Promise<string> {
    this.#host = await probeBubblewrap(this.#runtime, this.#agentFile, scopeName(), identity, this.#programs)
    return this.#host.scopes === undefined
      ? 'rlimits of each process; the memory of all programs of a session together is not limited (no systemd with cgroup v2)'
      : 'rlimits, and a scope of systemd (cgroup v2)'
  }

  async start(spec: MachineSpec, place: MachinePlace): Promise<HostMachine> {
    const [runtime, log, host] = [this.#runtime, this.#log, this.#host]
    if (host === undefined) throw new MachineStartError('bubblewrap cannot be used')
    const interpreter = findInterpreter(spec, this.#programs)
    return startMachine({ runtime, log, host, spec, place, interpreter, name: scopeName() })
  }
}

/** Programs inside see the name, so it reveals nothing about the service. */
function scopeName(): string {
  return `mcps-sandbox-${randomBytes(8).toString('hex')}`
}

/** The first version with `--disable-userns`. */
const VERSION_MIN = [0, 8] as const

/** The time limit of a trial. A machine that does nothing takes milliseconds. */
const TRY_MS = 20_000

/**
 * `name` must be unique among scopes. `identity` is the user of a machine if it differs. @throws RuntimeUnusable
 */
export async function probeBubblewrap(
  runtime: Runtime,
  agentFile: string,
  name: string,
  identity: HostIdentity | undefined,
  programs: readonly string[] = [],
): Promise<BubblewrapHost> {
  const found = findBwrap(programs)
  const { bwrap } = found
  const ran = (args: readonly string[]): Promise<ProgramOutput> => {
    const spec = { command: bwrap, args, cwd: '/', env: systemEnvironment, ...(identity && { identity }) }
    return programOutput(runtime, spec, TRY_MS)
  }
  const version = await ran(['--version'])
  if (version.code !== 0)
    throw new RuntimeUnusable(
      `${bwrap} --version fails: ${version.stderr.trim().split('\n')[0] ?? ''}`,
      `run ${bwrap} --version by hand${identity === undefined ? '' : ` as the user ${identity.uid}`} to see why`,
    )
  if (!isRecent(version.stdout))
    throw new RuntimeUnusable(
      `${version.stdout.trim() || bwrap} is too old`,
      'install bubblewrap 0.8 or later',
    )
  const trial = await ran(trialArguments)
  if (trial.code !== 0) throw refused(trial.stderr.trim())
  const agent = await readFile(agentFile).catch(() => undefined)
  if (agent === undefined)
    throw new RuntimeUnusable(
      `${agentFile} cannot be read`,
      'install mcps-proxy again, or build it: npm run build',
    )
  const shell = await readFile('/bin/sh')
  const scopes = await findScopes(runtime, name, programs)
  return { ...found, scopes, agent, shell }
}

const trialArguments = [
  ['--unshare-user', '--unshare-pid', '--unshare-net', '--unshare-ipc', '--unshare-uts', '--unshare-cgroup'],
  ['--disable-userns', '--die-with-parent', '--cap-drop', 'ALL', '--ro-bind', '/', '/', '--proc', '/proc'],
  ['--dev', '/dev', '--', 'true'],
].flat()

function refused(complaint: string): RuntimeUnusable {
  const why = `bwrap cannot make a machine: ${complaint.split('\n')[0] ?? ''}`
  const remedies: readonly (readonly [RegExp, string])[] = [
    [
      /loopback|RTM_NEWADDR|setting up uid map/i,
      "Ubuntu's AppArmor forbids it: apt-get install apparmor-profiles && ln -s /usr/share/apparmor/extra-profiles/bwrap-userns-restrict /etc/apparmor.d/ && systemctl reload apparmor; or sysctl kernel.apparmor_restrict_unprivileged_userns=0",
    ],
    [
      /mount proc|\/proc/i,
      'in a container, /proc is covered: run it with --security-opt systempaths=unconfined (Docker, Podman), or with --privileged',
    ],
    [
      /./s,
      'user namespaces must be allowed: in Docker, run with --security-opt seccomp=unconfined --security-opt apparmor=unconfined; on a host, sysctl user.max_user_namespaces=15000 kernel.unprivileged_userns_clone=1',
    ],
  ]
  const remedy = remedies.find(([pattern]) => pattern.test(complaint))?.[1]
  return new RuntimeUnusable(why, remedy ?? 'run bwrap --unshare-all true by hand to see why')
}

function isRecent(version: string): boolean {
  const [, major, minor] = /(\d+)\.(\d+)/.exec(version) ?? []
  const [majorMin, minorMin] = VERSION_MIN
  return Number(major) > majorMin || (Number(major) === majorMin && Number(minor) >= minorMin)
}
