// The kept facts of a configuration's servers, as one can read them without a proxy.

import type { Configuration, Environment, SchemaConfig } from '../config/configuration.js'
import { keptFolder } from '../config/file.js'
import { FolderFiles } from '../kept/folder-files.js'
import { KeptStore, keptFileName } from '../kept/store.js'
import { limits } from '../limits.js'
import { listKinds } from '../mcp/list-items.js'
import { counted } from '../text/counted.js'
import type { KeptFacts } from '../upstream/contracts/kept.js'
import type { ServerConfig } from '../upstream/contracts/server-config.js'

/** The path of the lock that a process holds while it learns what this configuration's servers list. */
export function keptLock({ source }: Configuration, env: Environment): string {
  return `${keptFolder(env)}/${keptFileName(source).replace(/json$/, 'lock')}`
}

/** The servers of a schema that are started without being asked for, and that have neither listed nor failed yet. */
export function unlistedServers(
  config: Configuration,
  schema: SchemaConfig,
  env: Environment,
): ServerConfig[] {
  const store = readOnly(config, new FolderFiles(keptFolder(env)))
  return schema.servers.filter((server) => {
    const { disabled, lazy, keep, unavailable } = server
    if (disabled || lazy || !keep || unavailable !== undefined) return false
    const facts = store.of(server).facts
    return facts?.description === undefined && facts?.failure === undefined
  })
}

function readOnly({ source }: Configuration, files: FolderFiles): KeptStore {
  return new KeptStore(limits.kept, { files, runtime: stillClock, log: () => {}, source })
}

/** The folder, and what is kept of each server in words, without text of the server; the folder alone where that is nothing. */
export function keptReport(config: Configuration, env: Environment): string[] {
  const files = new FolderFiles(keptFolder(env))
  const store = readOnly(config, files)
  const isOne = config.schemas.size === 1
  const rows = [...config.schemas.values()].flatMap((schema) =>
    schema.servers.map((server) => ({
      label: isOne ? server.name : `${schema.name}: ${server.name}`,
      words: server.keep ? inWords(store.of(server).facts) : 'nothing, since "keep" is false',
    })),
  )
  const isKept = rows.some(({ words }) => words !== undefined)
  const lines = rows.map(({ label, words = 'nothing yet' }) => `  ${label}: ${words}`)
  return isKept
    ? [`kept lists in ${files.folder}:`, ...lines]
    : [`kept lists in ${files.folder}: none of these servers`]
}

/** A clock that stands still at 0: no entry is old then, so a report does not mark entries as used. */
const stillClock = { wallNow: () => 0, setTimer: () => ({ cancel: () => {} }) }

function inWords(facts: KeptFacts | undefined): string | undefined {
  if (facts === undefined) return undefined
  const failed = facts.failure === undefined ? [] : 'failed at its last start'
  return [failed, facts.description === undefined ? 'no lists' : counts(facts.description)].flat().join(', ')
}

function counts({ lists }: NonNullable<KeptFacts['description']>): string[] {
  return listKinds.flatMap((kind) => {
    const count = lists.get(kind)?.length ?? 0
    if (count === 0 && kind !== 'tools') return []
    const one = kind === 'templates' ? 'resource template' : kind.slice(0, -1)
    return [counted(count, one)]
  })
}
