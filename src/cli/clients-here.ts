// The clients of this machine: their files, and how they would start this program.

import { readFileSync, realpathSync } from 'node:fs'
import { join } from 'node:path'
import process from 'node:process'
import { homeOf, ownPath } from '../config/file.js'
import { pathFolders } from '../runtime/path-folders.js'
import { errorCode } from '../text/error-text.js'
import type { Launch } from './clients/launch.js'
import type { FoundFile } from './clients/plan.js'
import { type Client, type UserMachine, clients } from './clients/table.js'

export function thisMachine(): UserMachine {
  return { platform: process.platform, home: homeOf(process.env), env: process.env }
}

export interface FoundFiles {
  readonly files: readonly FoundFile[]
  /** Clients that were named, and whose file is not there. */
  readonly missing: readonly { readonly client: Client; readonly path: string }[]
}

export function findFiles(name: string | undefined, machine: UserMachine): FoundFiles {
  const wanted = clients
    .filter((client) => name === undefined || client.name === name)
    .map((client) => ({ client, path: client.path(machine), text: readText(client.path(machine)) }))
  return {
    files: wanted.flatMap(({ text, ...file }) => (text === undefined ? [] : [{ ...file, text }])),
    missing: name === undefined ? [] : wanted.filter(({ text }) => text === undefined),
  }
}

/** The text of a file; undefined where the file is missing, cannot be opened, or is not UTF-8. */
export function readText(path: string): string | undefined {
  try {
    const bytes = readFileSync(path)
    const text = bytes.toString('utf8')
    return Buffer.from(text).equals(bytes) ? text : undefined
  } catch (error) {
    if (['ENOENT', 'ENOTDIR', 'EISDIR', 'EACCES'].includes(errorCode(error) ?? '')) return undefined
    throw error
  }
}

/** How a client starts this program. The client is taken to have our PATH, so the name alone is enough where PATH leads to this file. */
export function launchOf(config: string): Launch {
  const script = process.argv[1] ?? ''
  const real = realpathSync(script)
  // npm deletes that folder some day.
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
