// A child of the service as a program of a session.

import { existsSync } from 'node:fs'
import type { Child } from '../../../src/runtime/runtime.js'
import type { GuestExit, GuestProcess } from '../../../src/sandbox/runtime.js'

/** A program that runs as a child of this process. */
export class LocalProcess implements GuestProcess {
  readonly stdin: GuestProcess['stdin']
  readonly stdout: GuestProcess['stdout']
  readonly stderr: GuestProcess['stderr']
  readonly exited: Promise<GuestExit>
  readonly #child: Child

  constructor(child: Child, program: string, cwd: string) {
    this.#child = child
    this.stdin = child.stdin
    this.stdout = child.stdout
    this.stderr = child.stderr
    // It may end before it has read what was written to it.
    this.stdin.on('error', () => undefined)
    this.exited = child.exited.then(({ code, signal, spawnError }) =>
      spawnError === undefined
        ? { code, signal }
        : { code, signal, failure: `${existsSync(cwd) ? program : cwd}: ${spawnError}` },
    )
  }

  interrupt(): void {
    this.#child.interrupt?.()
  }

  kill(): void {
    void this.#killAll()
  }

  async #killAll(): Promise<void> {
    await this.#child.survey?.()
    this.#child.signal('SIGKILL')
  }
}
