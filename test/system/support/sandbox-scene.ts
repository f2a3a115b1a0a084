// A runtime on the real kernel, as root or as an ordinary user.

import assert from 'node:assert/strict'
import { chmodSync, chownSync, cpSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after } from 'node:test'
import { type RealRuntime, realRuntime } from '../../../src/real-runtime.js'
import type { Runtime } from '../../../src/runtime/runtime.js'
import type { SandboxRuntime } from '../../../src/sandbox/runtime.js'
import { type RuntimeSurroundings, chooseRuntime } from '../../../src/sandbox/runtimes.js'

/** The user id of the unprivileged user that every Linux has. */
export const USER = 65_534

export interface SandboxScene {
  readonly runtime: RealRuntime
  readonly around: RuntimeSurroundings & { readonly stateFolder: string; readonly programFolder: string }
  /** A folder for the files of the tests. */
  readonly folder: string
  /** A runtime that is closed at the end; `on` starts its processes, where that is not the scene itself. */
  bubblewrap(programFolder?: string, on?: Runtime): Promise<SandboxRuntime>
}

/**
 * Everything is removed at the end.
 *
 * With `user`, a process of root becomes an ordinary user for good, so that all modules must have been imported. A process
 * of another user stays as before.
 */
export function sandboxScene(as: 'root' | 'user'): SandboxScene {
  const folder = mkdtempSync(join(tmpdir(), 'mcps-sandbox-'))
  const [stateFolder, programFolder, home] = ['state', 'program', 'home'].map((name) => join(folder, name))
  assert(stateFolder !== undefined && programFolder !== undefined && home !== undefined)
  for (const path of [stateFolder, home]) mkdirSync(path)
  cpSync('dist/sandbox', join(programFolder, 'sandbox'), { recursive: true })
  // Users of sessions pass through them.
  for (const path of [folder, stateFolder]) chmodSync(path, 0o711)
  if (as === 'user') becomeUser(folder, home)
  const runtime = realRuntime()
  const made: SandboxRuntime[] = []
  const around = { runtime, log: () => undefined, stateFolder, programFolder }
  after(async () => {
    await Promise.all(made.map((each) => each.close()))
    await runtime.close()
    rmSync(folder, { recursive: true, force: true, maxRetries: 10 })
  })
  return {
    runtime,
    around,
    folder,
    bubblewrap: async (program = programFolder, on = runtime) => {
      const { runtime: one } = await chooseRuntime('bubblewrap', {
        ...around,
        runtime: on,
        programFolder: program,
      })
      made.push(one)
      return one
    },
  }
}

/** Gives a folder with all its files to an ordinary user, and becomes that user. */
function becomeUser(folder: string, home: string): void {
  process.env['HOME'] = home
  if (process.getuid?.() !== 0) return
  for (const path of ['.', ...readdirSync(folder, { encoding: 'utf8', recursive: true })])
    chownSync(join(folder, path), USER, USER)
  process.setgroups?.([])
  process.setgid?.(USER)
  process.setuid?.(USER)
}
