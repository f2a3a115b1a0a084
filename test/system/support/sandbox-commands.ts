// The command with a sandbox, started by root or by an ordinary user, and what it leaves on the host.

import assert from 'node:assert/strict'
import {
  chmodSync,
  chownSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  readlinkSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  processIds,
  readProcFile,
  readProcesses,
  withDescendants,
} from '../../../src/runtime/process-table.js'
import { type Scope, Spawned } from '../../integration/support/spawned.js'
import { SandboxClient } from '../../sandbox/support/sandbox.js'
import { USER } from './sandbox-scene.js'

const root = join(import.meta.dirname, '../../../..')

/** A copy of the command that every user can start, also a user who may not read the checkout. */
export class SandboxCommands {
  readonly folder: string
  readonly stateFolder: string
  /** Whether other services have the state folder too. */
  readonly isShared: boolean
  readonly #program: string
  readonly #home: string
  readonly #folders = new Map<number, Set<string>>()
  readonly #identity: { readonly uid: number; readonly gid: number } | undefined

  constructor(scope: Scope, as: 'root' | 'user') {
    const isRoot = process.getuid?.() === 0
    this.folder = mkdtempSync(join(tmpdir(), 'mcps-sandbox-'))
    scope.after(() => rmSync(this.folder, { recursive: true, force: true, maxRetries: 10 }))
    this.#home = join(this.folder, 'home')
    mkdirSync(this.#home)
    this.#identity = isRoot && as === 'user' ? { uid: USER, gid: USER } : undefined
    if (this.#identity !== undefined) chownSync(this.#home, USER, USER)
    chmodSync(this.folder, 0o755)
    this.#program = join(this.folder, 'program')
    copyProgram(this.#program)
    this.isShared = isRoot && as === 'root'
    this.stateFolder = this.isShared ? '/var/lib/mcps-proxy/sandbox' : join(this.#home, '.mcps-proxy/sandbox')
  }

  /** A configuration with one sandbox, `box`. */
  config(name: string, box: object): string {
    const path = join(this.folder, name)
    writeFileSync(
      path,
      JSON.stringify({ mcpServers: { box: { type: 'sandbox', runtime: 'bubblewrap', ...box } } }),
    )
    return path
  }

  /** Starts the command, and kills it at the end if it still runs. */
  start(scope: Scope, args: readonly string[]): Spawned {
    const { PATH } = process.env
    const spawned = new Spawned(process.execPath, [join(this.#program, 'dist/cli.js'), ...args], {
      env: { PATH, HOME: this.#home },
      cwd: this.#home,
      ...(this.#identity !== undefined && { identity: this.#identity }),
    })
    scope.after(async () => {
      spawned.kill()
      await spawned.exited
    })
    return spawned
  }

  /** A client of `sandbox --stdio`. */
  async serve(scope: Scope, box: object = {}): Promise<Served> {
    const config = this.config(`box-${Math.random()}.json`, box)
    const spawned = this.start(scope, ['sandbox', '--stdio', '--silent', '--config', config])
    await spawned.client.open()
    const { pid } = spawned.child
    assert(pid !== undefined)
    return { spawned, client: new SandboxClient(spawned.client), pid }
  }

  /** The existing folders that a service below this process has, or had at the last call. */
  foldersOf(pid: number): string[] {
    const known = this.#folders.get(pid) ?? new Set()
    this.#folders.set(pid, known)
    for (const each of descendantsOf(pid))
      for (const path of openFiles(each)) {
        const [, name] = /\/([\da-f]{16})\/lock$/.exec(path) ?? []
        if (name !== undefined) known.add(name)
      }
    return namesIn(this.stateFolder).filter((name) => known.has(name))
  }
}

export interface Served {
  readonly spawned: Spawned
  readonly client: SandboxClient
  readonly pid: number
}

/** The build, and the packages that it loads. */
function copyProgram(to: string): void {
  cpSync(join(root, 'dist'), join(to, 'dist'), { recursive: true })
  cpSync(join(root, 'package.json'), join(to, 'package.json'))
  const copied = new Set<string>()
  const copy = (folder: string): void => {
    const { dependencies }: { readonly dependencies?: unknown } = JSON.parse(
      readFileSync(join(folder, 'package.json'), 'utf8'),
    )
    for (const name of Object.keys(Object(dependencies))) {
      if (copied.has(name)) continue
      copied.add(name)
      const from = join(root, 'node_modules', name)
      cpSync(from, join(to, 'node_modules', name), { recursive: true, dereference: true })
      copy(from)
    }
  }
  copy(root)
}

/** Every process that descends from this one. */
export function descendantsOf(pid: number): number[] {
  const all = withDescendants(readProcesses(), (row) => row.pid === pid)
  return all.flatMap((row) => (row.pid === pid ? [] : row.pid))
}

/** The program that the command has started for its sandbox. */
export function programOf(pid: number): number {
  const found = descendantsOf(pid).filter((each) => {
    const [command, script] = readProcFile(`/proc/${each}/cmdline`).split('\0')
    return command === process.execPath && script?.endsWith('/sandbox.js') === true
  })
  assert.equal(found.length, 1)
  return found[0] ?? assert.fail()
}

/** The processes of the host that sleep for so long. */
export function marked(mark: string): number[] {
  return processIds().filter((pid) => readProcFile(`/proc/${pid}/cmdline`).startsWith(`sleep\0${mark}`))
}

/** Resident memory in MiB. */
export function residentMiB(pid: number): number {
  return Number(/^VmRSS:\s+(\d+) kB/m.exec(readProcFile(`/proc/${pid}/status`))?.[1]) / 1024
}

function openFiles(pid: number): string[] {
  return namesIn(`/proc/${pid}/fd`).flatMap((name) => {
    try {
      return [readlinkSync(`/proc/${pid}/fd/${name}`)]
    } catch {
      return []
    }
  })
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder)
  } catch {
    return []
  }
}
