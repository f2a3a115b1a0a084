// The words and options of `doctor`, `list`, `tools`, `call`, `read` and `prompt`.

import { millisecondsOf } from './milliseconds.js'
import { asks } from './options.js'
import { usage } from './tokens.js'
import type { CommandLine, UsageMistake } from './tokens.js'

/** Start servers once, and say what they have, or what is wrong with them. */
export interface DoctorCommand {
  readonly kind: 'doctor'
  readonly config: string | undefined
  readonly schema: string
  /** The profile whose part of the servers is meant, in place of a schema. */
  readonly profile: string | undefined
  /** The one server that is meant. */
  readonly name: string | undefined
  /** Whether one line a server is enough. */
  readonly isBrief: boolean
  readonly json: boolean
}

/** The requests to the servers of one schema. */
export interface AskCommand {
  readonly kind: 'ask'
  readonly what: 'tools' | 'call' | 'read' | 'prompt'
  /** The words behind the command: a pattern, or a name and arguments; none lists what there is. */
  readonly words: readonly string[]
  readonly config: string | undefined
  readonly schema: string
  /** The profile that is shown, in place of a schema. */
  readonly profile: string | undefined
  readonly timeoutMs: number | undefined
  readonly json: boolean
}

export function askOf(line: CommandLine): AskCommand | DoctorCommand | UsageMistake {
  const { words, values } = line
  const what = asks.find((name) => name === line.command) ?? 'tools'
  const mistake = mistakeIn(what, line)
  if (mistake !== undefined) return mistake
  const asked = {
    config: values.get('config'),
    schema: values.get('schema') ?? 'default',
    profile: values.get('profile'),
    json: values.has('json'),
  }
  if (what === 'doctor' || what === 'list')
    return { kind: 'doctor', name: words[0], isBrief: what === 'list', ...asked }
  return {
    kind: 'ask',
    what,
    words,
    timeoutMs: millisecondsOf(values.get('timeout') ?? ''),
    ...asked,
  }
}

function mistakeIn(what: (typeof asks)[number], { words, rest }: CommandLine): UsageMistake | undefined {
  const [name, stray] = words
  if (name === undefined && what === 'call')
    return usage(
      'call needs the name of a tool',
      'for example: mcps-proxy call Time__get_current_time timezone=Europe/Berlin',
    )
  if (stray !== undefined && what !== 'call' && what !== 'prompt')
    return usage(`unexpected argument "${stray}"`)
  return rest === undefined ? undefined : usage(`${what} takes nothing behind --`)
}
