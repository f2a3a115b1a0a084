// The clients of this machine: their files, and how they would start this program.

import { isUtf8 } from 'node:buffer'
import { realpathSync } from 'node:fs'
import { join } from 'node:path'
import process from 'node:process'
import { homeOf, ownPath } from '../config/file.js'
import { pathFolders } from '../runtime/path-folders.js'
import { readFileBytes } from '../runtime/read-file.js'
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

/** The file of Claude Code has its history too. */
const BYTES_MAX = 256 * 1024 * 1024

/** Undefined for a file that is missing, cannot be read, or is not UTF-8. */
export function readText(path: string): string | undefined {
  const file = readFileBytes(path, BYTES_MAX)
  return file.kind === 'read' && isUtf8(file.bytes) ? file.bytes.toString('utf8') : undefined
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
