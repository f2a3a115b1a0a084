// The kept facts of a configuration's servers, for `--check`.

import { type Configuration, type Environment, keptFolder } from '../config/config.js'
import { FolderFiles } from '../kept/folder-files.js'
import { readNames } from '../kept/names.js'
import { keptInWords } from '../kept/summary.js'
import { limits } from '../limits.js'

/** The folder, and what is kept of each server; the folder alone where that is nothing. */
export function keptReport(config: Configuration, env: Environment): string[] {
  const files = new FolderFiles(keptFolder(env))
  const place = { files, limits: limits.kept, names: readNames(files, config.source) }
  const isOne = config.schemas.size === 1
  const rows = [...config.schemas.values()].flatMap((schema) =>
    schema.servers.map((server) => ({
      label: isOne ? server.name : `${schema.name}: ${server.name}`,
      words: server.keep ? keptInWords(server, place) : 'nothing, since "keep" is false',
    })),
  )
  const isKept = rows.some(({ words }) => words !== undefined)
  const lines = rows.map(({ label, words = 'nothing yet' }) => `  ${label}: ${words}`)
  return isKept
    ? [`kept lists in ${files.folder}:`, ...lines]
    : [`kept lists in ${files.folder}: none of these servers`]
}
