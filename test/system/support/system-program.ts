// A program of the system that listens on loopback, for as long as a test needs it.

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort } from '../../integration/support/free-port.js'
import type { Scope } from '../../integration/support/spawned.js'
import { Restartable } from './restartable.js'

export interface SystemProgram {
  readonly command: string
  /** Its arguments, given the folder that is its own and the path of its configuration. */
  args(folder: string, config: string): readonly string[]
  config(folder: string, port: number): string
}

export interface Running {
  readonly port: number
  readonly folder: string
}

/** Another program may take a free port before this one does. */
const TRIES = 3
/** Debian has such programs in folders that only the PATH of root has. */
const env = { PATH: `${process.env['PATH']}:/usr/sbin:/usr/local/sbin` }

/** Starts the program with a new folder and a free port. Both are gone after the test. */
export async function startProgram(scope: Scope, program: SystemProgram): Promise<Running> {
  const folder = mkdtempSync(join(tmpdir(), 'mcps-system-'))
  scope.after(() => rmSync(folder, { recursive: true, force: true, maxRetries: 10 }))
  const config = join(folder, 'config')
  const { command } = program
  for (let tries = 1; ; tries++) {
    const port = await freePort()
    writeFileSync(config, program.config(folder, port))
    const started = new Restartable(scope, { command, args: program.args(folder, config), env, port })
    try {
      await started.start()
      return { port, folder }
    } catch (error) {
      if (tries === TRIES) throw error
    }
  }
}
