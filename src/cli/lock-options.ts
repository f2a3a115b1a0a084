// The options of `lock`.

import { usage } from './tokens.js'
import type { CommandLine, UsageMistake } from './tokens.js'

export interface LockCommand {
  readonly kind: 'lock'
  /** `write` records what is not locked yet, and `check` writes nothing. */
  readonly what: 'write' | 'check' | 'accept'
  /** Servers as `files`, and their tools and prompts as `files/read_file`; all changes where there is none. */
  readonly names: readonly string[]
  readonly config: string | undefined
  /** Undefined is every enabled one. */
  readonly schema: string | undefined
  readonly json: boolean
}

const flags = ['check', 'accept'] as const

export function lockCommandOf({ words, rest, values, lists }: CommandLine): LockCommand | UsageMistake {
  const [what, other] = flags.filter((each) => values.has(each))
  const [stray] = [...words, ...(rest ?? []), values.get('check') ?? ''].filter((word) => word !== '')
  if (other !== undefined) return usage(`--${what} and --${other} cannot be used together`, 'choose one')
  if (stray !== undefined)
    return usage(
      `lock takes no word like "${stray}"`,
      'for example: mcps-proxy lock --accept files/read_file',
    )
  return {
    kind: 'lock',
    what: what ?? 'write',
    names: what === 'accept' ? (lists.get(what) ?? []) : [],
    config: values.get('config'),
    schema: values.get('schema'),
    json: values.has('json'),
  }
}
