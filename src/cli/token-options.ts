// The words and options of `token`.

import { tokenNamePattern } from '../config/fields.js'
import { usage } from './tokens.js'
import type { CommandLine, UsageMistake } from './tokens.js'

export interface TokenCommand {
  readonly kind: 'token'
  readonly what: 'create' | 'list' | 'revoke'
  /** Empty for a list. */
  readonly name: string
  /** As it was written: a span such as `30d`, or a date. */
  readonly expires: string | undefined
  /** Empty is everything. */
  readonly profiles: readonly string[]
  readonly config: string | undefined
}

const whats = ['create', 'list', 'revoke'] as const

const example = 'for example: mcps-proxy token create ci --profile review --expires 30d'

/** A span is so many hours, days or weeks. */
export const spanPattern: RegExp = /^([1-9]\d{0,3})([hdw])$/
const datePattern = /^\d{4}-\d{2}-\d{2}$/

export function tokenOf({ words, rest, values, lists }: CommandLine): TokenCommand | UsageMistake {
  const [first, name, stray] = words
  const what = whats.find((each) => each === first)
  const expires = values.get('expires')
  const profiles = lists.get('profile') ?? []
  const command = {
    kind: 'token',
    name: name ?? '',
    expires,
    profiles,
    config: values.get('config'),
  } as const
  if (what === undefined) return usage('token needs create, list or revoke', example)
  if (what !== 'create' && (expires !== undefined || profiles.length > 0))
    return usage('--expires and --profile work only with create', example)
  if (what === 'list') return name === undefined ? { ...command, what } : usage('token list takes no name')
  if (name === undefined) return usage(`token ${what} needs the name of a token`, example)
  if (stray !== undefined || rest !== undefined) return usage(`token ${what} takes one name`)
  if (!new RegExp(tokenNamePattern, 'u').test(name))
    return usage(`the name "${name}" cannot be used`, 'use letters, digits, "_", "-" and "."')
  if (expires !== undefined && !spanPattern.test(expires) && !isDate(expires))
    return usage(`--expires is "${expires}"`, 'it must be like 12h, 30d, 8w or YYYY-MM-DD')
  if (expires !== undefined && Date.parse(expires) <= Date.now())
    return usage(
      `--expires ${expires} is past`,
      'the token ends when that day begins in UTC; take a later one',
    )
  return { ...command, what }
}

function isDate(text: string): boolean {
  return datePattern.test(text) && !Number.isNaN(Date.parse(text))
}
