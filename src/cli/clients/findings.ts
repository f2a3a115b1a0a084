// Faults in the files of clients: entries of ours that start nothing.

import { existsSync } from 'node:fs'
import { basename, isAbsolute } from 'node:path'
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

/** `isInPath` says whether PATH has a program. */
export function clientFindings(
  files: readonly FoundFile[],
  machine: UserMachine,
  launch: Launch,
  isInPath: (program: string) => boolean,
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
      const trouble = programTrouble(words, client.lacksPath && machine.platform === 'darwin', isInPath)
      if (trouble === undefined) return []
      const [, server] = /(?:^|\n)--server[=\n]([^\n]*)/.exec(words.join('\n')) ?? []
      const chosen = server === undefined ? [] : ['--server', server]
      const again = JSON.stringify(ownEntry(client, machine, launch, chosen))
      return [finding(`has the entry '${name}', which starts ${trouble}`, `write ${again}`)]
    })
  })
}

function programTrouble(
  [command = '', ...args]: readonly string[],
  lacksPath: boolean,
  isInPath: (program: string) => boolean,
): string | undefined {
  if (isAbsolute(command) && !existsSync(command)) return `${command}, which is not there`
  if (!isAbsolute(command) && !isInPath(command)) return `${command}, which is in no folder of PATH`
  if (!isAbsolute(command) && lacksPath) return `${command}, and the client has not the PATH of your shell`
  const script = args.find((arg) => isAbsolute(arg) && /\.[cm]?js$/.test(arg))
  const isNode = /^node(?:\.exe)?$/.test(basename(command))
  return isNode && script !== undefined && !existsSync(script) ? `${script}, which is not there` : undefined
}
