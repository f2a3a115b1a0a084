// The paths of the programs of the tests, and their entries in a configuration.

import { resolve } from 'node:path'
import type { ConfigurationJson, StdioServerJson } from '../../../src/index.js'
import { leaveHome } from './home.js'

leaveHome()

/** The repository; the tests run from its root. */
export const root: string = process.env['IT_ROOT'] ?? process.cwd()

/** The command, bundled beside these tests unless `IT_CLI` names another. */
export const cli: string = process.env['IT_CLI'] ?? resolve(import.meta.dirname, '../../../program/cli.js')

/** The command, which answers `initialize` when all servers have listed, or at the end of `startupGraceMs`. */
export const patientCli: string = resolve(import.meta.dirname, '../../../patient/cli.js')

export const program = (name: string): string => resolve(root, 'test/programs', name)
/** A server by another author, bundled beside these tests. */
const packaged = (name: string): string => resolve(import.meta.dirname, `../../../servers/${name}.js`)

/** A server in a configuration file. */
export type ServerEntry = Readonly<Record<string, unknown>>

/** An unchecked value, as a program reads it from a file. */
export function asRead(value: object): ConfigurationJson {
  return JSON.parse(JSON.stringify(value))
}

const node = (...args: readonly string[]): StdioServerJson => ({ command: process.execPath, args })

/** A program of `test/programs`, and its arguments behind spaces, with these variables and further settings. */
export function nodeProgram(
  name: string,
  env: Readonly<Record<string, string>> = {},
  more: ServerEntry = {},
): StdioServerJson {
  const [file = '', ...args] = name.split(' ')
  return { ...node(program(file), ...args), env, ...more }
}

/** `it-server.mjs` with these variables and further settings. */
export function itServer(
  env: Readonly<Record<string, string>> = {},
  more: ServerEntry = {},
): StdioServerJson {
  return nodeProgram('it-server.mjs', env, more)
}

export function itEcho(env: Readonly<Record<string, string>> = {}, more: ServerEntry = {}): StdioServerJson {
  return nodeProgram('it-echo.mjs', env, more)
}

export const everythingArgs: readonly string[] = [packaged('everything'), 'stdio']
export const everything: StdioServerJson = node(...everythingArgs)
export const filesystem = (folder: string): StdioServerJson => node(packaged('filesystem'), folder)
export const memoryArgs: readonly string[] = [packaged('memory')]
export const memory = (file: string): StdioServerJson => ({
  ...node(...memoryArgs),
  env: { MEMORY_FILE_PATH: file },
})
export const timeArgs: readonly string[] = [
  resolve(cli, '../servers/time.js'),
  '--local-timezone',
  'Europe/Berlin',
]
export const time: StdioServerJson = node(...timeArgs)
