// The table of a command, and the reading of a command line by it.
//
// `mri` takes values apart. What it would let pass in silence is refused before and after it: an option that the command does not
// have, an option without its value or given twice, a switch with a value.

import mri from 'mri'
import { type CommandName, olderSpellings } from './command-names.js'
import { nearest } from '../text/nearest.js'

/** An option of a command. */
export interface Option<T> {
  /** A switch takes nothing; an optional value may be left out; a list may be given more than once. */
  readonly kind: 'switch' | 'value' | 'optional-value' | 'list'
  /** The name of its value in the help. */
  readonly value: string
  readonly about: string
  /** Other spellings; one letter means a single dash. */
  readonly aliases: readonly string[]
  /** The value of the texts that were given, and of none where it was not given. @throws UsageError */
  readonly read: (texts: readonly string[], name: string) => T
}

export type Options = Readonly<Record<string, Option<unknown>>>

/** A mistake of the person at the keyboard. */
export class UsageError extends Error {
  override readonly name = 'UsageError'
  readonly problem: string
  readonly hint: string
  /** The command that it is about, for an example. */
  command: CommandName | undefined

  constructor(problem: string, hint = '') {
    super(hint === '' ? problem : `${problem}; ${hint}`)
    this.problem = problem
    this.hint = hint
  }
}

/** What a command line gives: the values of the options by their names, and the words. */
export type Given<O extends Options> = {
  readonly [K in keyof O]: O[K] extends Option<infer T> ? T : never
} & Words

interface Words {
  /** The words behind the command that are no options. */
  readonly words: readonly string[]
  /** The words after `--`; undefined without one. */
  readonly rest: readonly string[] | undefined
}

/** The name and the arguments of the process. */
export interface Invocation {
  /** The name it was called by. */
  readonly program: string
  readonly argv: readonly string[]
}

/** Everything that a person can know of a command. */
interface CommandTable<O extends Options> {
  readonly name: CommandName
  /** The words behind the name, as the help shows them; absent without words. */
  readonly takes?: string
  readonly about: string
  readonly group: 'SERVE' | 'SET UP' | 'LOOK' | 'TEST'
  /** Help beyond the one line. */
  readonly details: string
  readonly examples: readonly string[]
  readonly options: O
  /** How many words it takes at most. Absent: none. */
  readonly wordsMax?: number
  /** Whether it takes words after `--`. */
  readonly takesRest?: true
}

/** A command, and what it does. */
export interface Command<T = unknown> extends CommandTable<Options> {
  readonly takes: string
  /** The task of the arguments behind the name of the command. @throws UsageError */
  readonly read: (argv: readonly string[]) => T
  /** @returns the exit code */
  run(task: T, invocation: Invocation): Promise<number>
}

/** `read` refuses what does not fit together. @throws UsageError */
export function command<const O extends Options, T>(
  table: CommandTable<O> & {
    read(given: Given<O>): T
    run(task: T, invocation: Invocation): Promise<number>
  },
): Command<T> {
  const read = (argv: readonly string[]): T => {
    try {
      return table.read(readCommandLine(table, argv))
    } catch (error) {
      if (error instanceof UsageError) error.command = table.name
      throw error
    }
  }
  return { takes: '', ...table, read }
}

type More = Partial<Pick<Option<unknown>, 'aliases' | 'kind'>>

export function flag(about: string, aliases: readonly string[] = []): Option<boolean> {
  return { kind: 'switch', value: '', about, aliases, read: (texts) => texts.length > 0 }
}

export function text(value: string, about: string, more: More = {}): Option<string | undefined> {
  return { kind: 'value', value, about, aliases: [], ...more, read: ([first]) => first }
}

export function list(value: string, about: string): Option<readonly string[]> {
  return { kind: 'list', value, about, aliases: [], read: (texts) => texts }
}

/** `must` says what form the value has to have. */
export function formed<T>(
  value: string,
  about: string,
  readText: (text: string) => T | undefined,
  must: string,
  more: More = {},
): Option<T | undefined> {
  const read = ([given]: readonly string[], name: string): T | undefined => {
    const found = given === undefined ? undefined : readText(given)
    if (given !== undefined && found === undefined)
      throw new UsageError(`--${name} is "${given}"`, `it must be ${must}`)
    return found
  }
  return { kind: 'value', value, about, aliases: [], ...more, read }
}

/** One of these words. */
export function oneOf<const T extends string>(
  value: string,
  about: string,
  words: readonly T[],
  more: More = {},
): Option<T | undefined> {
  const must = words.join(', ').replace(/, ([^,]*)$/, ' or $1')
  return formed(value, about, (given) => words.find((word) => word === given), must, more)
}

/** How a person types it. */
export function spelled(name: string): string {
  return name.length === 1 ? `-${name}` : `--${name}`
}

/** Every spelling of an option, with its dashes. */
export function spellingsOf(name: string, { aliases }: Option<unknown>): string[] {
  return [name, ...aliases].map(spelled)
}

/** Whether one of these words before `--` asks for something else than the command. */
export function asksFor(argv: readonly string[], ...spellings: readonly string[]): boolean {
  const end = argv.indexOf('--')
  return argv.slice(0, end < 0 ? undefined : end).some((word) => spellings.includes(word))
}

function readCommandLine<O extends Options>(table: CommandTable<O>, argv: readonly string[]): Given<O> {
  const end = argv.indexOf('--')
  const own = end < 0 ? argv : argv.slice(0, end)
  const rest = end < 0 ? undefined : argv.slice(end + 1)
  const options: (readonly [string, Option<unknown>])[] = Object.entries(table.options)
  const bySpelling = new Map(
    options.flatMap(([name, option]) =>
      spellingsOf(name, option).map((spelling) => [spelling, option] as const),
    ),
  )
  for (const [at, word] of own.entries()) assertOption(table, bySpelling, word, own[at - 1])
  // `mri` would read `--no-x` as `x` being false, and take the word behind a switch for its value.
  const closed = own.map((word) => {
    return bySpelling.get(word)?.kind === 'switch' ? `${word.replace(/^--no-/, '--not-')}=true` : word
  })
  const spellings = (isSwitch: boolean): string[] =>
    [...bySpelling]
      .filter(([, { kind }]) => (kind === 'switch') === isSwitch)
      .map(([spelling]) => spelling.replace('--no-', '--not-').replace(/^--?/, ''))
  const parsed: Record<string, unknown> = mri(closed, { boolean: spellings(true), string: spellings(false) })
  const words = Array.isArray(parsed['_']) ? parsed['_'].map(String) : []
  const stray = words[table.wordsMax ?? 0]
  if (stray !== undefined) throw unexpected(stray)
  if (rest !== undefined && table.takesRest !== true)
    throw new UsageError(`${table.name} takes nothing behind --`)
  const values = options.map(([name, option]) => {
    const texts = [name, ...option.aliases].flatMap((each) => parsed[each.replace(/^no-/, 'not-')] ?? [])
    return [name, option.read(textsOf(name, option, texts.map(String)), name)] as const
  })
  const given = { ...Object.fromEntries(values), words, rest }
  if (hasAll(given, table.options)) return given
  throw new Error(`an option of ${table.name} was not read`)
}

function hasAll<O extends Options>(given: Words, options: O): given is Given<O> {
  return Object.keys(options).every((name) => Object.hasOwn(given, name))
}

function assertOption(
  { name, options, takesRest }: CommandTable<Options>,
  bySpelling: ReadonlyMap<string, Option<unknown>>,
  word: string,
  before = '',
): void {
  if (!word.startsWith('-')) return
  const spelling = word.split('=', 1)[0] ?? word
  const known = bySpelling.get(spelling)
  const takesValue = (bySpelling.get(before)?.kind ?? 'switch') !== 'switch'
  if (/^-\.?\d/.test(word) && takesValue)
    throw new UsageError(`${before} is "${word}"`, 'it must not be negative')
  if (known === undefined) {
    // Without a name the options belong to `http`, and a mode may be meant.
    const modes = name === 'http' ? olderSpellings.map(([mode]) => mode.slice(2)) : []
    const [near] = nearest(spelling.replace(/^-+/, ''), [...Object.keys(options), ...modes])
    const others = takesRest === true ? '; those of another program stand behind --' : ''
    const hint =
      near === undefined
        ? `mcps-proxy help ${name} names those of ${name}${others}`
        : `did you mean ${spelled(near)}?`
    throw new UsageError(`unknown option ${spelling}`, hint)
  }
  if (known.kind === 'switch' && word.length > spelling.length)
    throw new UsageError(`${spelling} takes no value`)
}

function textsOf(
  name: string,
  { kind, value }: Option<unknown>,
  given: readonly string[],
): readonly string[] {
  if (kind === 'switch') return given
  if (given.length > 1 && kind !== 'list')
    throw new UsageError(`${spelled(name)} was given twice`, 'keep one')
  if (given.includes('') && kind !== 'optional-value')
    throw new UsageError(`${spelled(name)} needs a value`, `${spelled(name)} ${value}`)
  return given
}

function unexpected(word: string): UsageError {
  // It may hold a password or a key.
  if (word.includes('://'))
    return new UsageError(
      'unexpected argument that is an address',
      'mcps-proxy connect URL serves a remote server',
    )
  const hint = /\.jsonc?$/.test(word) ? `a configuration file is named by --config ${word}` : ''
  return new UsageError(`unexpected argument "${word}"`, hint)
}
