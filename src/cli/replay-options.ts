// The options of `replay`.

import type { ReplayRequest } from '../replay/replayer.js'
import { headersOf, mistakeInHeaders } from './header-fields.js'
import { millisecondsOf } from './milliseconds.js'
import { usage } from './tokens.js'
import type { Tokens, Usage } from './tokens.js'

export interface ReplayCommand extends ReplayRequest {
  readonly kind: 'replay'
}

const timeoutMsDefault = 30_000

export function replayOf(tokens: Tokens): ReplayCommand {
  const { words, rest, values } = tokens
  return {
    kind: 'replay',
    files: words.slice(1),
    portable: values.has('portable'),
    command: rest ?? [],
    url: values.get('url'),
    http: values.has('http'),
    headers: headersOf(tokens),
    verbose: values.has('verbose'),
    updates: values.has('update'),
    junit: values.get('junit'),
    timeoutMs: millisecondsOf(values.get('timeout') ?? '') ?? timeoutMsDefault,
  }
}

export function mistakeInReplay(tokens: Tokens): Usage | undefined {
  const { words, rest, values } = tokens
  const example = 'for example: mcps-proxy replay FILE.jsonl -- COMMAND'
  const hasCommand = rest !== undefined && rest.length > 0
  if (words.length < 2 && !values.has('portable')) return usage('replay needs a file, or --portable', example)
  if (values.has('portable') && values.has('update'))
    return usage(
      '--update writes transcripts, and those of --portable belong to the package',
      'leave one out',
    )
  if (hasCommand && values.has('url')) return usage('replay takes a command or --url, not both', example)
  if (values.has('http') && values.has('url'))
    return usage('--http starts a server and --url names one that runs', 'choose one')
  return mistakeInHeaders(tokens)
}
