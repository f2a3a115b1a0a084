// The words and options of `import`.

import { namesHint } from '../text/nearest.js'
import { type ClientName, clientNames } from './clients/names.js'
import { usage } from './tokens.js'
import type { CommandLine, UsageMistake } from './tokens.js'

/** Take over the servers of clients, or give them back. */
export interface ImportCommand {
  readonly kind: 'import'
  /** Undefined is every client that has a file. */
  readonly client: ClientName | undefined
  readonly config: string | undefined
  /** Whether the changes are written without a question. */
  readonly yes: boolean
  readonly dryRun: boolean
  readonly undo: boolean
  /** Whether each server keeps a separate entry. */
  readonly doors: boolean
  /** Whether each client gets a profile that shows its own servers. */
  readonly profiles: boolean
  /** Whether secrets go to the store instead of the file. */
  readonly secrets: boolean
}

export function importOf({ words, rest, values }: CommandLine): ImportCommand | UsageMistake {
  const [word, stray] = words
  const client = clientNames.find((name) => name === word)
  const undo = values.has('undo')
  if (stray !== undefined || rest !== undefined) return usage('import takes one client')
  if (word !== undefined && client === undefined)
    return usage(`no client is called "${word}"`, namesHint(word, clientNames))
  const ofMoves = ['doors', 'profiles', 'secrets', 'config'].some((option) => values.has(option))
  if (undo && (client !== undefined || ofMoves))
    return usage('--undo undoes the last import as a whole', 'for example: mcps-proxy import --undo')
  if (values.has('yes') && values.has('dry-run'))
    return usage('--yes and --dry-run cannot be used together', 'choose one')
  const doors = values.has('doors')
  const profiles = values.has('profiles')
  if (doors && profiles) return usage('--doors and --profiles cannot be used together', 'choose one')
  const secrets = values.has('secrets')
  const config = values.get('config')
  return {
    kind: 'import',
    client,
    config,
    yes: values.has('yes'),
    dryRun: values.has('dry-run'),
    undo,
    doors,
    profiles,
    secrets,
  }
}
