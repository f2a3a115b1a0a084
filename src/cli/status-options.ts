// The words and options of `status`.

import { headersOf, mistakeInHeaders } from './header-fields.js'
import { millisecondsOf } from './milliseconds.js'
import { usage } from './tokens.js'
import type { CommandLine, UsageMistake } from './tokens.js'

/** A look at a running gateway. */
export interface StatusCommand {
  readonly kind: 'status'
  /** Its address; undefined means the port and host of the configuration, on this machine. */
  readonly url: string | undefined
  readonly headers: Readonly<Record<string, string>>
  readonly config: string | undefined
  readonly timeoutMs: number | undefined
  readonly json: boolean
}

export function statusCommandOf(line: CommandLine): StatusCommand | UsageMistake {
  const { words, rest, values } = line
  const [url, stray] = words
  if (stray !== undefined) return usage(`unexpected argument "${stray}"`)
  if (rest !== undefined) return usage('status takes nothing behind --')
  if (url !== undefined && !(/^https?:\/\//.test(url) && URL.canParse(url)))
    return usage(
      'status takes the address of a gateway',
      'for example: mcps-proxy status http://127.0.0.1:3095',
    )
  const mistake = mistakeInHeaders(line)
  if (mistake !== undefined) return mistake
  return {
    kind: 'status',
    url,
    headers: headersOf(line),
    config: values.get('config'),
    timeoutMs: millisecondsOf(values.get('timeout') ?? ''),
    json: values.has('json'),
  }
}
