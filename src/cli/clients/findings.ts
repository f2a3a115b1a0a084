// Faults in the files of clients: entries of ours that start nothing.

import { existsSync } from 'node:fs'
import { basename, isAbsolute } from 'node:path'
import { nearest } from '../../text/nearest.js'
import { type Launch, isOwnEntry, ownEntry, wordsOf } from './launch.js'
import type { FoundFile } from './plan.js'
import { parseServersFile } from './servers-file.js'
import type { UserMachine } from './table.js'

export interface ClientFinding {
  readonly client: string
  readonly path: string
  /** One sentence, which begins behind the name of the client. */
  readonly problem: string
  readonly mend: string
}

/** `isInPath` says whether PATH has a program; `servers` are those of the configuration in force. */
export function clientFindings(
  files: readonly FoundFile[],
  machine: UserMachine,
  launch: Launch,
  isInPath: (program: string) => boolean,
  servers: readonly string[],
): ClientFinding[] {
  const [, script] = launch.whole
  return files.flatMap(({ client, path, text }) => {
    const reading = parseServersFile(client, text)
    const finding = (problem: string, mend: string): ClientFinding => {
      return { client: client.title, path, problem, mend }
    }
    if (reading.kind === 'refused')
      return [finding(reading.why, 'repair the file; the client may not read it either')]
    return [...reading.servers].flatMap(([name, value]) => {
      if (!isOwnEntry(value, script)) return []
      const words = wordsOf(value) ?? []
      const server = valueOf(words, ['--server'])
      const found =
        programTrouble(words, client.lacksPath && machine.platform === 'darwin', isInPath) ??
        configTrouble(words, servers)
      if (found === undefined) return []
      const chosen = server === undefined ? [] : ['--server', server]
      const again = JSON.stringify(ownEntry(client, machine, launch, chosen))
      return [finding(`has the entry '${name}', which ${found.problem}`, found.mend ?? `write ${again}`)]
    })
  })
}

/** Why an entry of ours starts nothing; without a mend it has to be written again. */
interface Trouble {
  readonly problem: string
  readonly mend?: string
}

function programTrouble(
  [command = '', ...args]: readonly string[],
  lacksPath: boolean,
  isInPath: (program: string) => boolean,
): Trouble | undefined {
  const script = args.find((arg) => isAbsolute(arg) && /\.[cm]?js$/.test(arg))
  const isNode = /^node(?:\.exe)?$/.test(basename(command))
  if (isAbsolute(command) && !existsSync(command)) return { problem: `starts ${command}, which is not there` }
  if (!isAbsolute(command) && !isInPath(command))
    return { problem: `starts ${command}, which is in no folder of PATH` }
  if (!isAbsolute(command) && lacksPath)
    return { problem: `starts ${command}, and the client has not the PATH of your shell` }
  if (isNode && script !== undefined && !existsSync(script))
    return { problem: `starts ${script}, which is not there` }
  return undefined
}

function configTrouble(words: readonly string[], servers: readonly string[]): Trouble | undefined {
  const config = valueOf(words, ['--config', '-c', '--mcp-config'])
  const server = valueOf(words, ['--server'])
  if (config !== undefined && isAbsolute(config)) {
    if (existsSync(config)) return undefined
    const mend = 'write the path of the one that is, or take --config out'
    return { problem: `names the configuration ${config}, which is not there`, mend }
  }
  if (server === undefined || servers.includes(server)) return undefined
  const [near] = nearest(server, servers)
  const adds = `mcps-proxy add ${server}`
  const mend = near === undefined ? `${adds} adds it` : `write --server ${near}, or ${adds}`
  return { problem: `names the server ${server}, which the configuration does not have`, mend }
}

/** The value of an option, under one of its names. */
function valueOf(args: readonly string[], names: readonly string[]): string | undefined {
  for (const [at, arg] of args.entries()) {
    const [name = '', ...rest] = arg.split('=')
    if (names.includes(name)) return rest.length > 0 ? rest.join('=') : args[at + 1]
  }
  return undefined
}
