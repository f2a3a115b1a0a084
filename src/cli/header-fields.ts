// The values of `--header`.

import { type CommandLine, type UsageMistake, usage } from './tokens.js'

/** The fields by their names, as given. */
export function headersOf({ lists }: CommandLine): Readonly<Record<string, string>> {
  return Object.fromEntries((lists.get('header') ?? []).flatMap((text) => fieldOf(text) ?? []))
}

export function mistakeInHeaders({ lists }: CommandLine): UsageMistake | undefined {
  const wrong = lists.get('header')?.findIndex((text) => fieldOf(text) === undefined) ?? -1
  if (wrong < 0) return undefined
  // The text itself may hold a secret.
  return usage(`--header number ${wrong + 1} is no header field`, "it must be like --header 'Name: value'")
}

/** RFC 9110, section 5: a token, a colon, and visible characters. */
function fieldOf(text: string): [name: string, value: string][] | undefined {
  const [, name, value] = /^([!#$%&'*+.^_`|~\w-]+):[ \t]*([\t\x20-\x7e]*?)[ \t]*$/.exec(text) ?? []
  return name === undefined || value === undefined ? undefined : [[name, value]]
}
