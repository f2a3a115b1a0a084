// Our entry in the file of a client: how it starts this program.

import { basename } from 'node:path'
import { isObject } from '../../text/json-object.js'
import type { Client, UserMachine } from './table.js'

export interface Launch {
  /** The words that start it through PATH, or through `npx`; undefined when neither finds it. */
  readonly short: readonly [command: string, ...args: string[]] | undefined
  /** The words that start it without PATH where that is possible: the program of Node.js and the file of this one. */
  readonly whole: readonly [command: string, ...args: string[]]
  /** The configuration, where it is not the one that is found without a name. */
  readonly config: string | undefined
}

/** The entry for all servers; `words` choose a part of them. */
export function ownEntry(
  client: Client,
  { platform }: UserMachine,
  launch: Launch,
  words: readonly string[] = [],
): object {
  const needsWhole = platform === 'win32' || (platform === 'darwin' && client.lacksPath)
  const [command, ...first] = needsWhole ? launch.whole : (launch.short ?? launch.whole)
  const config = launch.config === undefined ? [] : ['--config', launch.config]
  const args = [...first, 'stdio', ...config, ...words]
  const { type, ...more } = client.entry
  return { ...(type !== undefined && { type }), command, args, ...more }
}

/** The words with which an entry starts a program; undefined for one that does not. */
export function wordsOf(entry: unknown): string[] | undefined {
  if (!isObject(entry) || typeof entry['command'] !== 'string') return undefined
  const { command, args } = entry
  return [command, ...(Array.isArray(args) ? args.map(String) : [])]
}

const programs = ['mcps-proxy', 'mcp-all-in-one']

/** Whether an entry starts this program, wherever it is installed; `script` is the file of the running program. */
export function isOwnEntry(entry: unknown, script?: string): boolean {
  const words = wordsOf(entry) ?? []
  // The program itself, or the one that `node`, `npx -y` or `cmd /c npx -y` starts.
  const start = words[0] === 'cmd' ? words.slice(2, 5) : words.slice(0, 3)
  return start.some((word) => {
    const path = word.replaceAll('\\', '/')
    if (word === script || path.endsWith('/mcps-proxy/dist/cli.js')) return true
    return programs.includes(basename(path).replace(/\.(?:cmd|exe)$|@.*$/, ''))
  })
}
