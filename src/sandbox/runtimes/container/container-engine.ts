// Docker or Podman, by its command.

import process from 'node:process'
import type { Child, Runtime } from '../../../runtime/runtime.js'
import { type ProgramOutput, findProgram, programOutput } from '../../host-program.js'

/** Which engine is used where both are there: the first that answers. */
const programs = ['docker', 'podman'] as const

/** An engine that works answers within moments; one that is being started takes longer. */
const ANSWER_MS = 20_000

/** What the command needs of our environment to find its engine, and nothing else. */
const PASSED =
  /^(?:PATH|HOME|USER|LANG|TMPDIR|TEMP|TMP|SystemRoot|USERPROFILE|APPDATA|ProgramData|DBUS_SESSION_BUS_ADDRESS|XDG_\w+|DOCKER_\w+|CONTAINERS?_\w+)$/i

/** A command that reaches its engine. */
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

  /** Podman without root has users of its own inside. */
  get keepsUser(): boolean {
    return this.kind === 'podman' && process.getuid?.() !== 0
  }

  ask(args: readonly string[]): Promise<ProgramOutput> {
    return programOutput(this.#runtime, this.#spec(args, {}), ANSWER_MS)
  }

  /** `variables` are given on by `--env NAME`. */
  spawn(args: readonly string[], variables: Readonly<Record<string, string>>): Child {
    return this.#runtime.spawn(this.#spec(args, variables))
  }

  /** How a variable is written on the command line: with its value only where the command itself would take it for its own. */
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
export async function findEngine(runtime: Runtime): Promise<ContainerEngine | string> {
  const reasons: string[] = []
  for (const kind of programs) {
    const program = findProgram(kind, runtime.env)
    if (program === undefined) continue
    const engine = new ContainerEngine(runtime, kind, program)
    const { code, stderr } = await engine.ask(['ps', '--quiet'])
    if (code === 0) return engine
    reasons.push(`${kind} does not answer: ${reasonIn(stderr)}`)
  }
  return reasons.length === 0 ? 'neither docker nor podman is installed' : reasons.join('; ')
}

/** The line that says why a command has failed: warnings may stand before it, and advice behind it. */
export function reasonIn(text: string): string {
  const lines = text.trim().split('\n')
  return lines.find((line) => /\b(?:error|cannot)\b/i.test(line)) ?? lines[0] ?? ''
}
