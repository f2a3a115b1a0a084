// The options of `replay`; `options.ts` has their rows and their help.

import type { ReplayRequest } from '../replay/replayer.js'
import { headersOf, mistakeInHeaders } from './header-fields.js'
import { millisecondsOf } from './milliseconds.js'
import { usage } from './tokens.js'
import type { CommandLine, UsageMistake } from './tokens.js'

export interface ReplayCommand extends ReplayRequest {
  readonly kind: 'replay'
}

const timeoutMsDefault = 30_000

export function replayOf(line: CommandLine): ReplayCommand | UsageMistake {
  const mistake = mistakeIn(line)
  if (mistake !== undefined) return mistake
  const { words, rest, values } = line
  return {
    kind: 'replay',
    files: words,
    portable: values.has('portable'),
    command: rest ?? [],
    url: values.get('url'),
    http: values.has('http'),
    trust: values.has('trust'),
    headers: headersOf(line),
    verbose: values.has('verbose'),
    updates: values.has('update'),
    junit: values.get('junit'),
    timeoutMs: millisecondsOf(values.get('timeout') ?? '') ?? timeoutMsDefault,
  }
}

function mistakeIn(line: CommandLine): UsageMistake | undefined {
  const { words, rest, values } = line
  const example = 'for example: mcps-proxy replay FILE.jsonl -- COMMAND'
  const hasCommand = rest !== undefined && rest.length > 0
  if (words.length === 0 && !values.has('portable'))
    return usage('replay needs a file, or --portable', example)
  if (values.has('portable') && values.has('update'))
    return usage(
      '--update writes transcripts, and those of --portable belong to the package',
      'leave one out',
    )
  if (hasCommand && values.has('url')) return usage('replay takes a command or --url, not both', example)
  if (values.has('http') && values.has('url'))
    return usage('--http starts a server and --url names one that runs', 'choose one')
  return mistakeInHeaders(line)
}
