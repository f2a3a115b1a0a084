// The words and options of `add`, `remove`, `enable` and `disable`.

import type { ServerEdit } from '../config/edit.js'
import { headersOf, mistakeInHeaders } from './header-fields.js'
import { edits } from './options.js'
import { takesValue, usage } from './tokens.js'
import type { CommandLine, UsageMistake } from './tokens.js'

export interface EditCommand {
  readonly kind: 'edit'
  readonly edit: ServerEdit
  readonly config: string | undefined
  readonly schema: string
  /** Whether secrets of a new server go to the store instead of the file. */
  readonly secrets: boolean
}

const addExample = 'for example: mcps-proxy add files -- npx -y @modelcontextprotocol/server-filesystem /tmp'

export function editOf(line: CommandLine): EditCommand | UsageMistake {
  const { words, values } = line
  const what = edits.find((name) => name === line.command) ?? 'add'
  const [name, , stray] = words
  if (name === undefined) return usage(`${what} needs the name of a server`, what === 'add' ? addExample : '')
  if (stray !== undefined) return usage(`unexpected argument "${stray}"`)
  const mistake = what === 'add' ? mistakeInAdd(line) : mistakeInName(what, line)
  if (mistake !== undefined) return mistake
  const edit =
    what === 'add'
      ? ({ kind: what, name, entry: entryOf(line), replaces: values.has('force') } as const)
      : { kind: what, name }
  const schema = values.get('schema') ?? 'default'
  return { kind: 'edit', edit, config: values.get('config'), schema, secrets: values.has('secrets') }
}

/** The options of a command that does not stand behind `--` would be read as those of `add`. */
export function mistakeInCommand(argv: readonly string[]): UsageMistake | undefined {
  const [what, ...own] = argv
  if (what !== 'add' || own.includes('--') || own.some((word) => /^(?:--help|-h)$/.test(word)))
    return undefined
  const words = own.filter(isPlainWord)
  if (words.length < 2 || own.some((word) => word.includes('://'))) return undefined
  const mayBeAddress = words.length === 2 && /^[\w-]+(?:\.[\w-]+)*(?::\d+|\/)/.test(words[1] ?? '')
  return mayBeAddress
    ? usage('add needs http:// or https:// before an address, and -- before a command', addExample)
    : usage('add needs -- before the command of the server', addExample)
}

/** Whether a word is neither an option nor the value of one. */
function isPlainWord(word: string, index: number, words: readonly string[]): boolean {
  return !word.startsWith('-') && !takesValue(words[index - 1] ?? '')
}

function mistakeInName(what: string, { words, rest }: CommandLine): UsageMistake | undefined {
  return words.length === 1 && rest === undefined ? undefined : usage(`${what} takes one name`)
}

function mistakeInAdd(line: CommandLine): UsageMistake | undefined {
  const { words, rest, values, lists } = line
  const [, url] = words
  const hasCommand = rest !== undefined && rest.length > 0
  if (hasCommand === (url !== undefined))
    return usage('add needs a command behind --, or an address', addExample)
  if (url !== undefined && !/^https?:\/\//.test(url))
    return usage('the address must begin with http:// or https://', addExample)
  const wrong = (lists.get('env') ?? []).find((each) => !/^[^=]+=/.test(each))
  if (wrong !== undefined) return usage(`--env is "${wrong}"`, 'it must be NAME=VALUE')
  if (hasCommand && values.has('header')) return usage('--header works only with an address')
  const header = mistakeInHeaders(line)
  if (header !== undefined) return header
  return url !== undefined && values.has('env') ? usage('--env works only with a command') : undefined
}

/** The server as the configuration file has it. */
function entryOf(line: CommandLine): Readonly<Record<string, unknown>> {
  const [, url] = line.words
  const [command = '', ...args] = line.rest ?? []
  if (url !== undefined) {
    const headers = headersOf(line)
    return { url, ...(Object.keys(headers).length > 0 && { headers }) }
  }
  const env = Object.fromEntries(
    (line.lists.get('env') ?? []).map((each) => [
      each.slice(0, each.indexOf('=')),
      each.slice(each.indexOf('=') + 1),
    ]),
  )
  return { command, ...(args.length > 0 && { args }), ...(Object.keys(env).length > 0 && { env }) }
}
