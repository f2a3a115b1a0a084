// Finds the configuration file and reads it, once and synchronously: it is
// the first thing a start waits for.
//
// A configuration starts commands, so none is taken from the working folder
// unless it was named, and a file that others can write is worth a warning.

import { homedir } from 'node:os'
import { join, resolve } from 'node:path'
import process from 'node:process'
import type { Environment } from './configuration.js'
import { type Repeated, readJson } from './json-syntax.js'
import { ConfigError, type ConfigErrorCode } from './problems.js'
import { fromHome } from './paths.js'
import { type TextFile, readTextFile } from '../runtime/read-file.js'

/** Largest configuration file: a thousand servers fit, a log or an image given by mistake does not. */
const configBytesMax: number = 1024 * 1024

/** A file that was found and read. */
export interface ConfigFile {
  /** Absolute. */
  readonly path: string
  readonly text: string
  readonly value: unknown
  /** Members of which only the last is in `value`. */
  readonly repeated: readonly Repeated[]
  /** Whether users other than its owner may change it. */
  readonly writableByOthers: boolean
}

/** The places that are searched. */
export interface Search {
  readonly path: string | undefined
  readonly env: Environment
  readonly home: string
  readonly cwd: string
}

/** The path of the file in force, which may be missing; `what` says how the file was named. */
function configPath({ path, env, home, cwd }: Search): {
  readonly path: string
  readonly what?: string
} {
  const named = env['MCPS_PROXY_CONFIG']
  if (path !== undefined) return { path: resolve(cwd, fromHome(path, home)), what: 'the file that was named' }
  if (named === undefined || named === '') return { path: usualPath(home) }
  return { path: resolve(cwd, fromHome(named, home)), what: 'the file that $MCPS_PROXY_CONFIG names' }
}

/** The configuration file, or undefined when none was named and none is in the home folder. */
export function findConfigFile(search: Search): ConfigFile | undefined {
  const { path, what } = configPath(search)
  if (what !== undefined) return readConfigFile(path, what)
  return whereThere(() => readConfigFile(path, 'the configuration'))
}

/** The file that is read where none is named. */
function usualPath(home: string): string {
  return join(ownFolder(home), 'config.json')
}

/** The text of a configuration file that may not be there yet, and is empty then. @throws ConfigError */
export function configTextAt(path: string): string {
  return whereThere(() => readText(path, 'the configuration').text) ?? ''
}

function whereThere<T>(read: () => T): T | undefined {
  try {
    return read()
  } catch (error) {
    if (error instanceof ConfigError && error.code === 'CONFIG_NOT_FOUND') return undefined
    throw error
  }
}

function readText(path: string, what: string): Extract<TextFile, { kind: 'read' }> {
  const file = readTextFile(path, configBytesMax)
  if (file.kind !== 'read') throw unreadable(path, what, file)
  return file
}

function readConfigFile(path: string, what: string): ConfigFile {
  const { text, mode } = readText(path, what)
  if (text.trim() === '')
    throw failure('CONFIG_NOT_JSON', path, 'is empty', 'write { "mcpServers": { … } }, or run mcps-proxy add')
  const result = readJson(text)
  if (result.kind === 'mistake') {
    const { line, column, message } = result.mistake
    throw failure('CONFIG_NOT_JSON', path, `is not JSON at line ${line}, column ${column}`, message)
  }
  const writableByOthers = process.platform !== 'win32' && (mode & 0o022) !== 0
  const { value, repeated } = result
  return { path, text, value, repeated, writableByOthers }
}

function unreadable(path: string, what: string, file: Exclude<TextFile, { kind: 'read' }>): ConfigError {
  switch (file.kind) {
    case 'no-file':
      return failure('CONFIG_NOT_A_FILE', path, file.why.replace('it ', ''), 'name a JSON file')
    case 'too-large':
      return failure('CONFIG_TOO_LARGE', path, 'is too large', `must have at most ${configBytesMax} bytes`)
    case 'no-text':
      return failure('CONFIG_NOT_JSON', path, 'is not UTF-8 text', 'save it as UTF-8')
    case 'failed':
      break
  }
  if (file.code === 'ENOENT' || file.code === 'ENOTDIR')
    return failure('CONFIG_NOT_FOUND', path, `is not there (${what})`, 'check the path')
  return failure('CONFIG_UNREADABLE', path, `cannot be read: ${file.code}`, 'check its permissions')
}

function failure(code: ConfigErrorCode, path: string, problem: string, hint: string): ConfigError {
  return new ConfigError(code, path, [{ path: '', problem, hint }])
}

/** The file that is read where none is named. */
export function usualConfigFile(env: Environment): string {
  return usualPath(homeOf(env))
}

/** The path of the file in force, absolute; the file may be missing. It is the one that was named, or that `loadConfig` finds. */
export function configFileInForce(path: string | undefined, env: Environment): string {
  return configPath({ path, env, home: homeOf(env), cwd: process.cwd() }).path
}

/** The folder in which the proxy keeps what outlives a run. */
function ownFolder(home: string): string {
  return join(home, '.mcps-proxy')
}

/** The files and folders there that the proxy obeys. */
export function ownFiles(home: string): string[] {
  const names = ['config.json', 'secrets.json', 'auth', 'kept', 'imports', 'sandbox', 'ui']
  return names.map((name) => join(ownFolder(home), name))
}

/** The file with the secrets that were set, or with their names where a keyring has them. */
export function secretsFile(env: Environment): string {
  return join(ownFolder(homeOf(env)), 'secrets.json')
}

/** The folder with the addresses of inspectors. */
export function uiFolder(home: string): string {
  return join(ownFolder(home), 'ui')
}

/** The folder with the logins to remote servers. */
export function loginFolder(home: string): string {
  return join(ownFolder(home), 'auth')
}

/** The folder with the homes of the servers that run in a sandbox. */
export function sandboxedFolder(home: string): string {
  return join(ownFolder(home), 'sandboxed')
}

/** The folder in which the lists of servers are kept from one run to the next. */
export function keptFolder(env: Environment): string {
  return join(ownFolder(homeOf(env)), 'kept')
}

/** The folder with the records of what `import` has changed. */
export function importsFolder(env: Environment): string {
  return join(ownFolder(homeOf(env)), 'imports')
}

export function homeOf(env: Environment): string {
  const { HOME } = env
  return HOME === undefined || HOME === '' ? homedir() : HOME
}
