// The options of `replay`.

import type { ReplayRequest } from '../replay/replayer.js'
import { millisecondsOf } from './milliseconds.js'
import { usage } from './tokens.js'
import type { Tokens, Usage } from './tokens.js'

export interface ReplayCommand extends ReplayRequest {
  readonly kind: 'replay'
}

const timeoutMsDefault = 30_000

export function replayOf({ words, rest, values, lists }: Tokens): ReplayCommand {
  const fields = (lists.get('header') ?? []).flatMap((text) => fieldOf(text) ?? [])
  return {
    kind: 'replay',
    files: words.slice(1),
    command: rest ?? [],
    url: values.get('url'),
    http: values.has('http'),
    headers: Object.fromEntries(fields.map(({ name, value }) => [name, value])),
    verbose: values.has('verbose'),
    timeoutMs: millisecondsOf(values.get('timeout') ?? '') ?? timeoutMsDefault,
  }
}

export function mistakeInReplay({ words, rest, values, lists }: Tokens): Usage | undefined {
  const example = 'for example: mcps-proxy replay FILE.jsonl -- COMMAND'
  const hasCommand = rest !== undefined && rest.length > 0
  if (words.length < 2) return usage('replay needs a file', example)
  if (hasCommand && values.has('url')) return usage('replay takes a command or --url, not both', example)
  if (values.has('http') && values.has('url'))
    return usage('--http starts a server and --url names one that runs', 'choose one')
  const wrong = lists.get('header')?.findIndex((text) => fieldOf(text) === undefined) ?? -1
  if (wrong < 0) return undefined
  // Not the text itself: it may hold a secret.
  return usage(`--header number ${wrong + 1} is no header field`, "it must be like --header 'Name: value'")
}

/** RFC 9110, section 5: a token, a colon, and visible characters. */
function fieldOf(text: string): { readonly name: string; readonly value: string } | undefined {
  const [, name, value] = /^([!#$%&'*+.^_`|~\w-]+):[ \t]*([\t\x20-\x7e]*?)[ \t]*$/.exec(text) ?? []
  return name === undefined || value === undefined ? undefined : { name, value }
}
