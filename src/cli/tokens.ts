// The words of a command line -> options with their values, and the other words.
//
// `mri` takes values apart; what it would let pass in silence is refused
// before and after it: unknown options, an option without its value or given
// twice, a switch with a value.

import mri from 'mri'
import { nearest } from '../text/nearest.js'
import { commandNameOf, options, optionsOfCommands, spelled, spellingsOf } from './options.js'
import type { CommandName, Option } from './options.js'

/** A mistake of the person at the keyboard. */
export interface UsageMistake {
  readonly kind: 'usage'
  readonly problem: string
  readonly hint: string
  /** The command that it is about, for an example. */
  readonly about?: CommandName
}

export function usage(problem: string, hint = ''): UsageMistake {
  return { kind: 'usage', problem, hint }
}

/** A command line without mistakes in its form. */
export interface CommandLine {
  readonly kind: 'command-line'
  /** The first word, where that is a command; `check` and `connect` are options by now. */
  readonly command: CommandName | undefined
  /** By the option's name; a switch and a value left out are empty. */
  readonly values: ReadonlyMap<string, string>
  /** The values of an option that may be given more than once. */
  readonly lists: ReadonlyMap<string, readonly string[]>
  /** The words behind the command. */
  readonly words: readonly string[]
  /** The words after `--`; undefined without one. */
  readonly rest: readonly string[] | undefined
}

const bySpelling: ReadonlyMap<string, Option> = new Map(
  options.flatMap((each) => spellingsOf(each).map((spelling) => [spelling, each])),
)

const spellingsOfKind = (isSwitch: boolean): string[] =>
  options
    .filter(({ kind }) => (kind === 'switch') === isSwitch)
    .flatMap(({ name, aliases }) => [name, ...aliases])

export function readCommandLine(argv: readonly string[]): CommandLine | UsageMistake {
  const end = argv.indexOf('--')
  const own = end === -1 ? argv : argv.slice(0, end)
  const mistake = own.map(mistakeIn).find((found) => found !== undefined)
  if (mistake !== undefined) return mistake
  const parsed: Record<string, unknown> = mri(own.map(closeSwitch), {
    boolean: spellingsOfKind(true),
    string: spellingsOfKind(false),
  })
  const lists = readLists(parsed)
  const values = readValues(parsed)
  if (!(values instanceof Map)) return values
  const all = Array.isArray(parsed['_']) ? parsed['_'].map(String) : []
  const command = optionsOfCommands.has(all[0] ?? '') ? undefined : commandNameOf(all[0])
  const words = command === undefined ? all : all.slice(1)
  const rest = end === -1 ? undefined : argv.slice(end + 1)
  return { kind: 'command-line', command, values, lists, words, rest }
}

/** A switch written with its value, or `mri` would take the next word for it; `--no-x` it reads as `x` being false. */
function closeSwitch(word: string): string {
  const known = bySpelling.get(word)
  return known?.kind === 'switch' && !isNegation(known.name) ? `${word}=true` : word
}

/** Whether the word behind this one is its value. */
export function takesValue(word: string): boolean {
  return (bySpelling.get(word)?.kind ?? 'switch') !== 'switch'
}

function isNegation(name: string): boolean {
  return name.startsWith('no-')
}

function givenAs(parsed: Readonly<Record<string, unknown>>, name: string): unknown {
  if (!isNegation(name)) return parsed[name]
  return parsed[name.slice('no-'.length)] === false ? true : undefined
}

function mistakeIn(word: string, index: number, words: readonly string[]): UsageMistake | undefined {
  if (!word.startsWith('-')) return undefined
  const before = words[index - 1] ?? ''
  const isValue = /^-\.?\d/.test(word) && takesValue(before)
  if (isValue) return usage(`${before} is "${word}"`, 'it must not be negative')
  const spelling = word.split('=', 1)[0] ?? word
  const known = bySpelling.get(spelling)
  if (known === undefined) return unknownOption(spelling)
  const hasValue = word.length > spelling.length
  if (known.kind === 'switch' && hasValue) return usage(`${spelling} takes no value`)
  return undefined
}

function unknownOption(spelling: string): UsageMistake {
  const names = options.flatMap(({ name, aliases }) => [name, ...aliases]).filter(({ length }) => length > 1)
  const [near] = nearest(spelling.replace(/^-+/, ''), names)
  const hint = near === undefined ? 'mcps-proxy --help names them all' : `did you mean ${spelled(near)}?`
  return usage(`unknown option ${spelling}`, hint)
}

function readValues(parsed: Readonly<Record<string, unknown>>): Map<string, string> | UsageMistake {
  const values = new Map<string, string>()
  for (const { name, aliases, kind, value } of options) {
    const given = [name, ...aliases].flatMap((spelling) => givenAs(parsed, spelling) ?? [])
    const [first] = given
    if (first === undefined) continue
    if (kind === 'switch') values.set(name, '')
    else if (given.length > 1 && kind !== 'list') return usage(`${spelled(name)} was given twice`, 'keep one')
    else if (first === '' && kind !== 'optional-value')
      return usage(`${spelled(name)} needs a value`, `${spelled(name)} ${value}`)
    else values.set(name, typeof first === 'string' ? first : '')
  }
  return values
}

function readLists(parsed: Readonly<Record<string, unknown>>): Map<string, string[]> {
  const lists = options.filter(({ kind }) => kind === 'list')
  const given = (spelling: string): string[] => [parsed[spelling] ?? []].flat().map(String)
  return new Map(lists.map(({ name, aliases }) => [name, [name, ...aliases].flatMap(given)]))
}
