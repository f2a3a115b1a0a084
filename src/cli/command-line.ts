// The table of a command, and the reader of its command line.
//
// `mri` splits the command line. This file refuses the mistakes that `mri` would accept: an unknown option,
// an option without its value or given twice, a switch with a value.

import mri from 'mri'
import { nearest } from '../text/nearest.js'

/** Earlier versions had options in place of these commands. */
export const olderSpellings: readonly (readonly [option: string, command: string])[] = [
  ['--check', 'check'],
  ['--url', 'connect'],
  ['--stdio', 'stdio'],
  ['--http', 'http'],
]

export interface Option<T> {
  /** A switch has no value; an optional value may be left out; a list may be given more than once. */
  readonly kind: 'switch' | 'value' | 'optional-value' | 'list'
  /** The name of the value in the help. */
  readonly value: string
  readonly about: string
  /** Other spellings; one letter means a single dash. */
  readonly aliases: readonly string[]
  /** Reads the given texts; there are no texts if the option was not given. @throws UsageError */
  readonly read: (texts: readonly string[], name: string) => T
}

export type Options = Readonly<Record<string, Option<unknown>>>

export class UsageError extends Error {
  override readonly name = 'UsageError'
  /** The command of the mistake, whose example the message shows. */
  command: string | undefined

  constructor(problem: string, hint = '') {
    super(hint === '' ? problem : `${problem}; ${hint}`)
  }
}

/** The result of reading a command line: the values of the options by name, and the words. */
export type Given<O extends Options> = {
  readonly [K in keyof O]: O[K] extends Option<infer T> ? T : never
} & Words

interface Words {
  readonly words: readonly string[]
  /** The words after `--`; undefined without `--`. */
  readonly rest: readonly string[] | undefined
}

export interface Invocation {
  /** The name by which the program was called. */
  readonly program: string
  readonly argv: readonly string[]
  readonly isNamed: boolean
}

/** Two options that cannot be used together, and a hint. */
type Conflict<O extends Options> = readonly [first: keyof O & string, second: keyof O & string, hint?: string]

interface CommandTable<O extends Options> {
  readonly name: string
  /** The words after the name, as the help shows them; absent without words. */
  readonly takes?: string
  readonly about: string
  readonly group: 'SERVE' | 'SET UP' | 'LOOK' | 'TEST'
  readonly details: string
  readonly examples: readonly string[]
  readonly options: O
  readonly conflicts?: readonly Conflict<O>[]
  /** The first word: its description, or the list of its values. Absent: the word is optional. */
  readonly first?: string | readonly string[]
  /** The largest number of words. Absent: none. */
  readonly wordsMax?: number
  readonly takesRest?: true
}

export interface Command<G = unknown> extends Omit<CommandTable<Options>, 'conflicts'> {
  readonly takes: string
  /** Reads the arguments after the name of the command. @throws UsageError */
  readonly read: (argv: readonly string[]) => G
  /** @returns the exit code */
  run(given: G, invocation: Invocation): Promise<number>
}

/** `check` refuses values that do not fit together. @throws UsageError */
export function command<const O extends Options>(
  table: CommandTable<O> & {
    check?(given: Given<O>): void
    run(given: Given<O>, invocation: Invocation): Promise<number>
  },
): Command<Given<O>> {
  const read = (argv: readonly string[]): Given<O> => {
    try {
      const given = readCommandLine(table, argv)
      table.check?.(given)
      return given
    } catch (error) {
      if (error instanceof UsageError) error.command = table.name
      throw error
    }
  }
  const { conflicts: _, ...shown } = table
  return { takes: '', ...shown, read }
}

type More = Partial<Pick<Option<unknown>, 'aliases' | 'kind'>>

export function flag(about: string, aliases: readonly string[] = []): Option<boolean> {
  return { kind: 'switch', value: '', about, aliases, read: (texts) => texts.length > 0 }
}

export function valued(value: string, about: string, more: More = {}): Option<string | undefined> {
  return { kind: 'value', value, about, aliases: [], ...more, read: ([first]) => first }
}

export function repeated(value: string, about: string): Option<readonly string[]> {
  return { kind: 'list', value, about, aliases: [], read: (texts) => texts }
}

/** `must` describes the form that the value must have. */
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

export function oneOf<const T extends string>(
  value: string,
  about: string,
  words: readonly T[],
  more: More = {},
): Option<T | undefined> {
  return formed(value, about, (given) => words.find((word) => word === given), eitherOf(words), more)
}

function eitherOf(words: readonly string[]): string {
  return words.join(', ').replace(/, ([^,]*)$/, ' or $1')
}

export function spelled(name: string): string {
  return name.length === 1 ? `-${name}` : `--${name}`
}

export function spellingsOf(name: string, { aliases }: Option<unknown>): string[] {
  return [name, ...aliases].map(spelled)
}

/** Whether one of these spellings occurs before `--`. */
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
    options.flatMap(([name, option]) => spellingsOf(name, option).map((each) => [each, option] as const)),
  )
  for (const word of own) assertOption(table, bySpelling, word)
  // `mri` would read `--no-x` as a false `x`, and the word after a switch as its value.
  const closed = own.map((word) => {
    return bySpelling.get(word)?.kind === 'switch' ? `${word.replace(/^--no-/, '--not-')}=true` : word
  })
  const texts = options
    .filter(([, { kind }]) => kind !== 'switch')
    .flatMap(([name, { aliases }]) => [name, ...aliases])
  const parsed: Record<string, unknown> = mri(closed, { string: texts })
  const words = [parsed['_']].flat().map(String)
  const stray = words[table.wordsMax ?? 0]
  if (stray !== undefined) throw wrongWord('unexpected argument', stray)
  const { first = [] } = table
  const isFirst = first.length === 0 || (typeof first === 'string' ? words : first).includes(words[0] ?? '')
  if (!isFirst)
    throw new UsageError(`${table.name} needs ${typeof first === 'string' ? first : eitherOf(first)}`)
  if (rest !== undefined && table.takesRest !== true)
    throw new UsageError(`${table.name} takes nothing behind --`)
  const found = new Map(
    options.map(([name, option]) => {
      const all = [name, ...option.aliases].flatMap((each) => parsed[each.replace(/^no-/, 'not-')] ?? [])
      return [name, textsOf(name, option, all.map(String))] as const
    }),
  )
  const conflict = table.conflicts?.find((pair) =>
    pair.slice(0, 2).every((name = '') => found.get(name)?.[0] !== undefined),
  )
  if (conflict !== undefined) throw cannotBoth(spelled(conflict[0]), spelled(conflict[1]), conflict[2])
  const values = options.map(([name, option]) => [name, option.read(found.get(name) ?? [], name)] as const)
  const given = { ...Object.fromEntries(values), words, rest }
  if (hasAll(given, table.options)) return given
  throw new Error(`an option of ${table.name} was not read`)
}

function hasAll<O extends Options>(given: Words, options: O): given is Given<O> {
  return Object.keys(options).every((name) => Object.hasOwn(given, name))
}

export function cannotBoth(first: string, second: string, hint = 'choose one'): UsageError {
  return new UsageError(`${first} and ${second} cannot be used together`, hint)
}

function assertOption(
  { name, options, takesRest }: Pick<CommandTable<Options>, 'name' | 'options' | 'takesRest'>,
  bySpelling: ReadonlyMap<string, Option<unknown>>,
  word: string,
): void {
  if (!word.startsWith('-')) return
  const spelling = word.split('=', 1)[0] ?? word
  const known = bySpelling.get(spelling)
  if (known?.kind === 'switch' && word.length > spelling.length)
    throw new UsageError(`${spelling} takes no value`)
  if (known !== undefined) return
  // Without a name, the options belong to `http`, and the user may mean a mode.
  const modes = name === 'http' ? olderSpellings.map(([mode]) => mode.slice(2)) : []
  const [near] = nearest(spelling.replace(/^-+/, ''), [...Object.keys(options), ...modes])
  const others = takesRest === true ? '; those of another program stand behind --' : ''
  const all = `mcps-proxy help ${name} names those of ${name}${others}`
  throw new UsageError(
    `unknown option ${spelling}`,
    near === undefined ? all : `did you mean ${spelled(near)}?`,
  )
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

/** `list` takes no name, and every other action needs one. @throws UsageError */
export function assertName(command: string, action: string, name: string | undefined): void {
  if (action === 'list' && name !== undefined) throw new UsageError(`${command} list takes no name`)
  if (action !== 'list' && name === undefined)
    throw new UsageError(`${command} ${action} needs the name of a ${command}`)
}

/** The error for a wrong word that is no option; `what` describes the mistake. */
export function wrongWord(what: string, word: string, hint = ''): UsageError {
  // The word may contain a password or a key.
  if (word.includes('://'))
    return new UsageError(`${what} that is an address`, 'mcps-proxy connect URL serves a remote server')
  const isFile = /\.jsonc?$/.test(word)
  return new UsageError(
    `${what} "${word}"`,
    isFile ? `a configuration file is named by --config ${word}` : hint,
  )
}
