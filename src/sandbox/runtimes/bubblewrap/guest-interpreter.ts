// The interpreters of a machine: their places on the host, and the other files that a machine must mount for them.
//
// The host runs no interpreter, because code of a session may have changed the files that it loads. The service
// only inspects its files, and accepts no interpreter from a volume.

import { closeSync, existsSync, openSync, readFileSync, readSync, realpathSync } from 'node:fs'
import { Buffer } from 'node:buffer'
import { basename, dirname, join } from 'node:path'
import process from 'node:process'
import { isProgram, systemFolders } from '../../../runtime/path-folders.js'
import { covers } from '../../../runtime/places.js'
import type { SandboxVolume } from '../../../upstream/contracts/sandbox-config.js'
import { MachineStartError, type SandboxLanguage, misconfigured } from '../../runtime.js'
import { isTooWide, overlap } from '../../volumes.js'

export interface GuestInterpreter {
  readonly program: string
  /** Files and folders of the host that the interpreter needs in addition to `/usr`. */
  readonly paths: readonly string[]
}

export interface WantedInterpreter {
  readonly language: SandboxLanguage
  readonly interpreter: string | undefined
  readonly volumes: readonly SandboxVolume[]
}

/** @throws MachineStartError */
export function findInterpreter(wanted: WantedInterpreter, programs: readonly string[]): GuestInterpreter {
  const { language, interpreter, volumes } = wanted
  const found = located(interpreter ?? usual(language, programs), language)
  for (const path of [found.program, ...found.paths]) {
    const volume = volumes.find(({ hostPath }) => overlap(hostPath, path))
    if (volume !== undefined)
      throw misconfigured(
        `the interpreter ${found.program} lies in the volume ${volume.hostPath}, where code of sessions could replace it: move it out`,
      )
  }
  return found
}

export function nodeItself(): GuestInterpreter {
  return located(process.execPath, 'node')
}

function usual(language: SandboxLanguage, programs: readonly string[]): string {
  if (language === 'node') return process.execPath
  const folders = [...programs, ...systemFolders]
  const found = folders.map((folder) => join(folder, 'python3')).find((path) => isBinary(path))
  if (found !== undefined) return found
  throw new MachineStartError('there is no python on this host: install it (apt-get install python3)')
}

function located(path: string, language: SandboxLanguage): GuestInterpreter {
  if (!isBinary(path))
    throw misconfigured(
      `${path} is no ${language} that can be run: name the program itself, and not a script that starts it`,
    )
  const real = realpathSync(path)
  if (language === 'node') return { program: real, paths: isInSystem(real) ? [] : [real] }
  // In a virtual environment, the path by which Python is started decides which packages it finds.
  const program = join(realpathSync(dirname(path)), basename(path))
  const environment = dirname(dirname(program))
  const base = baseOf(environment)
  const folders = [prefixOf(real), ...(base === undefined ? [] : [environment, prefixOf(base)])]
  const paths = [...new Set(folders)].filter((folder) => !isInSystem(folder))
  const wide = paths.find((folder) => isTooWide(folder))
  if (wide === undefined) return { program: base === undefined ? real : program, paths }
  throw misconfigured(`${path} is in no folder of its own: all of ${wide} would be seen by sessions`)
}

/** Returns the interpreter on which a virtual environment is based, or undefined for another folder. */
function baseOf(environment: string): string | undefined {
  const file = join(environment, 'pyvenv.cfg')
  const settings = existsSync(file) ? readFileSync(file, 'utf8') : ''
  const [, home] = /^home\s*=\s*(\/.*?)\s*$/m.exec(settings) ?? []
  return home === undefined ? undefined : join(home, 'python3')
}

/** `/opt/python` for `/opt/python/bin/python3`. */
function prefixOf(program: string): string {
  const folder = dirname(program)
  return dirname(existsSync(folder) ? realpathSync(folder) : folder)
}

function isInSystem(path: string): boolean {
  return covers('/usr', path)
}

function isBinary(path: string): boolean {
  if (!isProgram(path)) return false
  const start = Buffer.alloc(2)
  try {
    const descriptor = openSync(path, 'r')
    readSync(descriptor, start)
    closeSync(descriptor)
  } catch {
    return false
  }
  return start.toString('latin1') !== '#!'
}
