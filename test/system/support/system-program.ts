// A program of the system that listens on loopback, for as long as a test needs it.

import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { freePort } from '../../integration/support/free-port.js'
import type { Scope } from '../../integration/support/spawned.js'

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
const STOP_MS = 5000
/** Where Debian has such programs, in the PATH of root only. */
const ROOTS_PATH = '/usr/sbin:/usr/local/sbin'

/** Starts the program with a folder and a port of its own; both are gone after the test. */
export async function startProgram(scope: Scope, program: SystemProgram): Promise<Running> {
  const folder = mkdtempSync(join(tmpdir(), 'mcps-system-'))
  scope.after(() => rmSync(folder, { recursive: true, force: true, maxRetries: 10 }))
  const said: string[] = []
  for (let tries = 0; tries < TRIES; tries++) {
    const port = await freePort()
    const config = join(folder, 'config')
    writeFileSync(config, program.config(folder, port))
    // It leads a process group, so that its workers end with it.
    const child = spawn(program.command, [...program.args(folder, config)], {
      detached: true,
      env: { ...process.env, PATH: `${process.env['PATH']}:${ROOTS_PATH}` },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    child.on('error', (error) => said.push(error.message))
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (chunk: Buffer) => said.push(chunk.toString()))
    if (await listens(child, port)) {
      scope.after(() => stop(child))
      return { port, folder }
    }
  }
  throw new Error(`${program.command} does not listen: ${said.join('')}`)
}

/** Whether the port accepts a connection before the program ends. */
async function listens(child: ChildProcess, port: number): Promise<boolean> {
  while (child.pid !== undefined && child.exitCode === null && child.signalCode === null) {
    if (await accepts(port)) return true
    await delay(20)
  }
  return false
}

/** Whether something listens at the port. */
export function accepts(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1')
    socket.on('connect', () => {
      socket.destroy()
      resolve(true)
    })
    socket.on('error', () => resolve(false))
  })
}

async function stop(child: ChildProcess): Promise<void> {
  const { pid } = child
  if (pid === undefined || child.exitCode !== null || child.signalCode !== null) return
  const closed = once(child, 'close')
  child.kill('SIGTERM')
  const late = setTimeout(() => process.kill(-pid, 'SIGKILL'), STOP_MS)
  await closed
  clearTimeout(late)
}
