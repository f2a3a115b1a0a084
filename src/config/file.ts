// Finds and reads the configuration file. This is synchronous, because every start waits for it.
//
// A configuration starts commands. So the proxy reads none from the working folder unless the user names it,
// and warns of a file that other users can write.

import { mkdirSync, statSync } from 'node:fs'
import { homedir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import process from 'node:process'
import type { Environment } from './configuration.js'
import { type JsonResult, readJson } from './json-syntax.js'
import { ConfigError, type ConfigErrorCode } from './problems.js'
import { fromHome } from './paths.js'
import { realPlace } from '../runtime/places.js'
import { type TextFile, readTextFile } from '../runtime/read-file.js'
import { replaceFile } from '../runtime/write-file.js'

/** The largest configuration file. A thousand servers fit. A log or an image that is named by mistake does not. */
const configBytesMax: number = 1024 * 1024

export interface ConfigFile extends Extract<JsonResult, { kind: 'value' }> {
  /** Absolute. */
  readonly path: string
  /** Whether other users than the owner may write it. */
  readonly writableByOthers: boolean
}

export interface Search {
  readonly path: string | undefined
  readonly env: Environment
  readonly home: string
  readonly cwd: string
}

/** The path of the file in force, which may be missing. `what` describes how the user named it. */
function configPath({ path, env, home, cwd }: Search): {
  readonly path: string
  readonly what?: string
} {
  const named = env['MCPS_PROXY_CONFIG']
  if (path !== undefined) return { path: resolve(cwd, fromHome(path, home)), what: 'the file that was named' }
  if (named === undefined || named === '') return { path: ownPath(home, 'config.json') }
  return { path: resolve(cwd, fromHome(named, home)), what: 'the file that $MCPS_PROXY_CONFIG names' }
}

/** Returns the configuration file, or undefined if the user named none and the home folder has none. */
export function findConfigFile(search: Search): ConfigFile | undefined {
  const { path, what } = configPath(search)
  if (what !== undefined) return readConfigFile(path, what)
  return whereThere(() => readConfigFile(path, 'the configuration'))
}

/** Returns the text of a configuration file, or an empty text if the file is missing. @throws ConfigError */
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
  return { ...result, path, writableByOthers }
}

function unreadable(path: string, what: string, file: Exclude<TextFile, { kind: 'read' }>): ConfigError {
  const { kind, code, why } = file
  if (code === 'ENOENT' || code === 'ENOTDIR')
    return failure('CONFIG_NOT_FOUND', path, `is not there (${what})`, 'check the path')
  return failure('CONFIG_UNREADABLE', path, why.replace(/^it /, ''), remedies[kind])
}

const remedies = {
  'no-file': 'name a JSON file',
  'too-large': 'name a JSON file',
  'no-text': 'save it as UTF-8',
  failed: 'check its permissions',
} as const

function failure(code: ConfigErrorCode, path: string, problem: string, hint: string): ConfigError {
  return new ConfigError(code, path, [{ path: '', problem, hint }])
}

/** Replaces or creates a file. Keeps its owner, its permissions and links to it. @throws the error of the system */
export function rewriteFile(path: string, content: string | Uint8Array): void {
  const target = realPlace(path)
  mkdirSync(dirname(target), { recursive: true, mode: 0o700 })
  replaceFile(target, content, modeOf(target), true)
}

/** The permissions of a file. A missing file will be private. */
function modeOf(path: string): number {
  return (statSync(path, { throwIfNoEntry: false })?.mode ?? 0o600) & 0o777
}

/** Returns the absolute path of the file that the user named, or that `loadConfig` finds. The file may be missing. */
export function configFileInForce(path: string | undefined, env: Environment): string {
  return configPath({ path, env, home: homeOf(env), cwd: process.cwd() }).path
}

/** Files and folders that outlive a run. The proxy obeys them, so confined programs must not write them. */
const obeyedNames = [
  'config.json',
  'secrets.json',
  'state-key',
  'auth',
  'kept',
  'sessions',
  'imports',
  'sandbox',
  'ui',
] as const

export function ownPath(home: string, name: (typeof obeyedNames)[number] | 'sandboxed'): string {
  return join(home, '.mcps-proxy', name)
}

export function obeyedPaths(home: string): string[] {
  return obeyedNames.map((name) => ownPath(home, name))
}

export function homeOf(env: Environment): string {
  const { HOME } = env
  return HOME === undefined || HOME === '' ? homedir() : HOME
}
