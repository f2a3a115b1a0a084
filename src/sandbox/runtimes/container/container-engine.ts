// Docker or Podman, by its command.

import process from 'node:process'
import type { Child, Runtime } from '../../../runtime/runtime.js'
import { type ProgramOutput, programOutput } from '../../host-program.js'
import { findProgram } from '../../../runtime/path-folders.js'

/** The engines in order of preference: the service uses the first that answers. */
const programs = ['docker', 'podman'] as const

/** A running engine answers within moments; one that is starting takes longer. */
const ANSWER_MS = 20_000

/** Variables that the command needs to find its engine; it gets no others. */
const PASSED =
  /^(?:PATH|HOME|USER|LANG|TMPDIR|TEMP|TMP|SystemRoot|USERPROFILE|APPDATA|ProgramData|DBUS_SESSION_BUS_ADDRESS|XDG_\w+|DOCKER_\w+|CONTAINERS?_\w+)$/i

export class ContainerEngine {
  readonly #runtime: Runtime
  readonly #program: string
  readonly #env: Readonly<Record<string, string>>
  readonly kind: (typeof programs)[number]

  constructor(runtime: Runtime, kind: (typeof programs)[number], program: string) {
    this.#runtime = runtime
    this.kind = kind
    this.#program = program
    this.#env = Object.fromEntries(
      Object.entries(runtime.env).flatMap(([name, value]) =>
        value !== undefined && PASSED.test(name) ? [[name, value]] : [],
      ),
    )
  }

  /** Rootless Podman maps users to different numbers inside. */
  get keepsUser(): boolean {
    return this.kind === 'podman' && process.getuid?.() !== 0
  }

  ask(args: readonly string[]): Promise<ProgramOutput> {
    return programOutput(this.#runtime, this.#spec(args, {}), ANSWER_MS)
  }

  /** `--env NAME` passes each of `variables` on. */
  spawn(args: readonly string[], variables: Readonly<Record<string, string>>): Child {
    return this.#runtime.spawn(this.#spec(args, variables))
  }

  /** A variable on the command line: its value is written only when the command itself would read a variable of that name. */
  written(name: string, value: string): string {
    return PASSED.test(name) ? `${name}=${value}` : name
  }

  #spec(
    args: readonly string[],
    variables: Readonly<Record<string, string>>,
  ): Parameters<Runtime['spawn']>[0] {
    return { command: this.#program, args, cwd: '/', env: { ...variables, ...this.#env } }
  }
}

/** The first engine that answers, or why none does. */
export async function findEngine(
  runtime: Runtime,
  folders: readonly string[],
): Promise<ContainerEngine | string> {
  const reasons: string[] = []
  for (const kind of programs) {
    const program = findProgram(kind, folders)
    if (program === undefined) continue
    const engine = new ContainerEngine(runtime, kind, program)
    const { code, stderr } = await engine.ask(['ps', '--quiet'])
    if (code === 0) return engine
    reasons.push(`${kind} does not answer: ${reasonIn(stderr)}`)
  }
  return reasons.length === 0 ? 'neither docker nor podman is installed' : reasons.join('; ')
}

/** The line that says why a command has failed: warnings may precede it, and advice may follow. */
export function reasonIn(text: string): string {
  const lines = text.trim().split('\n')
  return lines.find((line) => /\b(?:error|cannot)\b/i.test(line)) ?? lines[0] ?? ''
}
