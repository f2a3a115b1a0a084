// The words of `secret`.

import { usage } from './tokens.js'
import type { CommandLine, UsageMistake } from './tokens.js'

export interface SecretCommand {
  readonly kind: 'secret'
  readonly what: 'set' | 'list' | 'remove'
  /** Empty for a list. */
  readonly name: string
}

const whats = ['set', 'list', 'remove'] as const

/** The names that `${keyring:NAME}` takes. */
const secretName = /^(?!-)[^{}\p{Cc}]{1,200}$/u

export function secretOf({ words, rest }: CommandLine): SecretCommand | UsageMistake {
  const [first, name, stray] = words
  const what = whats.find((each) => each === first)
  const example = 'for example: mcps-proxy secret set github'
  if (what === undefined) return usage('secret needs set, list or remove', example)
  if (what === 'list' && name === undefined) return { kind: 'secret', what, name: '' }
  if (what === 'list') return usage('secret list takes no name')
  if (name === undefined) return usage(`secret ${what} needs the name of a secret`, example)
  // It may be the secret, so it is not repeated.
  if (stray !== undefined || rest !== undefined)
    return usage(
      `secret ${what} takes one name`,
      `the value is typed, or comes from standard input; ${example}`,
    )
  if (!secretName.test(name))
    return usage('the name cannot be used', 'it has no braces, is one line, and does not begin with -')
  return { kind: 'secret', what, name }
}
