// The proxy's entry in a client's file: how the client starts this program, and whether the client allows that.

import { realpathSync } from 'node:fs'
import { basename, join } from 'node:path'
import process from 'node:process'
import { homeOf, ownPath } from '../../config/file.js'
import { readJson } from '../../config/json-syntax.js'
import { addItem, removeMember } from '../../config/json-text.js'
import { pathFolders } from '../../runtime/path-folders.js'
import { isObject, memberAt } from '../../text/json-object.js'
import type { Client, UserMachine } from './table.js'

export interface OwnLaunch {
  /** The command through PATH, or through `npx`; undefined if neither finds the program. */
  readonly short: readonly [command: string, ...args: string[]] | undefined
  /** The command without PATH if that is possible: the program of Node.js and the file of this program. */
  readonly whole: readonly [command: string, ...args: string[]]
  /** The path of the configuration; undefined for the default path. */
  readonly config: string | undefined
}

/** How a client starts this program. Clients are presumed to have this PATH, so a name that PATH finds is enough. */
export function launchOf(config: string): OwnLaunch {
  const script = process.argv[1] ?? ''
  const real = realpathSync(script)
  // npm deletes that folder at some time.
  const isNpx = /[/\\]_npx[/\\]/.test(real)
  const npx = ['npx', '-y', 'mcps-proxy'] as const
  return {
    short: isNpx ? npx : isOnPath(real) ? ['mcps-proxy'] : undefined,
    whole: isNpx ? (process.platform === 'win32' ? ['cmd', '/c', ...npx] : npx) : [process.execPath, real],
    config: config === ownPath(homeOf(process.env), 'config.json') ? undefined : config,
  }
}

function isOnPath(real: string): boolean {
  return pathFolders(process.env['PATH']).some((folder) => {
    try {
      return realpathSync(join(folder, 'mcps-proxy')) === real
    } catch {
      return false
    }
  })
}

/** The entry for all servers, or for the servers that `words` select. */
export function ownEntry(
  client: Client,
  { platform }: UserMachine,
  launch: OwnLaunch,
  words: readonly string[] = [],
): object {
  const needsWhole = platform === 'win32' || (platform === 'darwin' && client.lacksPath)
  const [command, ...first] = needsWhole ? launch.whole : (launch.short ?? launch.whole)
  const config = launch.config === undefined ? [] : ['--config', launch.config]
  const args = [...first, 'stdio', ...config, ...words]
  const { type, ...more } = client.entry
  return { ...(type !== undefined && { type }), command, args, ...more }
}

/** The command line of an entry; undefined for an entry that starts no program. */
export function commandWords(entry: unknown): string[] | undefined {
  if (!isObject(entry) || typeof entry['command'] !== 'string') return undefined
  const { command, args } = entry
  return [command, ...(Array.isArray(args) ? args.map(String) : [])]
}

const programs = ['mcps-proxy', 'mcp-all-in-one']

/** Whether an entry starts this program, at any path; `script` is the file of the running program. */
export function isOwnEntry(entry: unknown, script?: string): boolean {
  const words = commandWords(entry) ?? []
  // The program itself, or the program that `node`, `npx -y` or `cmd /c npx -y` starts.
  const start = words[0] === 'cmd' ? words.slice(2, 5) : words.slice(0, 3)
  return start.some((word) => {
    const path = word.replaceAll('\\', '/')
    if (word === script || path.endsWith('/mcps-proxy/dist/cli.js')) return true
    return programs.includes(basename(path).replace(/\.(?:cmd|exe)$|@.*$/, ''))
  })
}

/** Whether the client's lists keep it from starting the server of that name. */
export function isBlocked({ lists }: Client, file: unknown, name: string): boolean {
  const [allowed, excluded] = [namesAt(file, lists?.allowed), namesAt(file, lists?.excluded)]
  return excluded?.includes(name) === true || allowed?.includes(name) === false
}

/** Adds the proxy's entry to the servers that the client may start, if the client has such a list. */
export function withAllowed({ lists }: Client, file: unknown, text: string, name: string): string {
  const isMissing = namesAt(file, lists?.allowed)?.includes(name) === false
  return lists !== undefined && isMissing ? addItem(text, [...lists.allowed], name) : text
}

export function withoutAllowed({ lists }: Client, text: string, name: string): string {
  if (lists === undefined) return text
  const read = readJson(text)
  const at = namesAt(read.kind === 'value' ? read.value : undefined, lists.allowed)?.indexOf(name) ?? -1
  return at < 0 ? text : removeMember(text, [...lists.allowed, at])
}

function namesAt(file: unknown, path: readonly string[] = []): readonly unknown[] | undefined {
  const list = memberAt(file, path)
  return path.length > 0 && Array.isArray(list) ? list : undefined
}
