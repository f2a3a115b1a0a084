import { escapeText } from '../text/escape.js'

export type ConfigErrorCode =
  | 'CONFIG_NOT_FOUND'
  | 'CONFIG_UNREADABLE'
  | 'CONFIG_NOT_JSON'
  | 'CONFIG_INVALID'
  | 'CONFIG_SCHEMA'
  | 'CONFIG_PROFILE'
  | 'CONFIG_LOOP'

/** One mistake: its place in the file, the problem, and a hint with the right value. */
export interface ConfigProblem {
  /** For example `schemas.default.mcpServers.fs.timeout`. Empty for the whole file. */
  readonly path: string
  readonly problem: string
  readonly hint: string
  /** The line of the file, counted from 1. Absent if the problem has no line. */
  readonly line?: number
}

export interface ConfigWarning {
  readonly path: string
  readonly message: string
  readonly line?: number
}

/** The configuration is wrong. `problems` lists every mistake, and `warnings` lists their possible causes. */
export class ConfigError extends Error {
  readonly code: ConfigErrorCode
  readonly problems: readonly ConfigProblem[]
  readonly warnings: readonly ConfigWarning[]
  /** The file, or the name that replaces it. */
  readonly source: string

  constructor(
    code: ConfigErrorCode,
    source: string,
    problems: readonly ConfigProblem[],
    warnings: readonly ConfigWarning[] = [],
  ) {
    super([`${escapeText(source)}:`, ...problems.map(problemLine), ...warnings.map(warningLine)].join('\n'))
    this.name = 'ConfigError'
    this.code = code
    this.source = source
    this.problems = problems
    this.warnings = warnings
  }
}

function problemLine({ problem, hint, ...place }: ConfigProblem): string {
  return escapeText(`  ${placeText(place)}${problem}${hint === '' ? '' : `; ${hint}`}`)
}

/** Returns one warning as one line of text, safe for a terminal. */
export function warningLine({ message, ...place }: ConfigWarning): string {
  return escapeText(`  warning: ${placeText(place)}${message}`)
}

function placeText({ path, line }: { readonly path: string; readonly line?: number }): string {
  return `${line === undefined ? '' : `line ${line}: `}${path}${path === '' ? '' : ' '}`
}

export type FindLine = (path: string) => number | undefined

export interface ProblemReport {
  problem(path: string, problem: string, hint: string): void
  warn(path: string, message: string): void
}

export class ProblemList implements ProblemReport {
  readonly problems: ConfigProblem[] = []
  readonly warnings: ConfigWarning[] = []
  readonly #lineOf: FindLine

  constructor(lineOf: FindLine = () => undefined) {
    this.#lineOf = lineOf
  }

  problem(path: string, problem: string, hint: string): void {
    this.problems.push({ path, problem, hint, ...this.#placed(path) })
  }

  warn(path: string, message: string): void {
    this.warnings.push({ path, message, ...this.#placed(path) })
  }

  #placed(path: string): { readonly line?: number } {
    const line = this.#lineOf(path)
    return line === undefined ? {} : { line }
  }
}

/** The longest part of a wrong value that a message repeats, in UTF-16 units. */
const shownLengthMax = 60

/** Describes a value in words that follow its path, without the text of a secret. */
export function whatItIs(value: unknown, secret = false): string {
  if (value === undefined) return 'is missing'
  if (Array.isArray(value)) return 'is a list'
  if (value === null) return 'is null'
  if (typeof value === 'object') return 'is an object'
  if (!secret && (typeof value === 'number' || typeof value === 'boolean')) return `is ${value}`
  if (secret || typeof value !== 'string') return `is a ${typeof value}`
  return `is "${value.length > shownLengthMax ? `${value.slice(0, shownLengthMax)}…` : value}"`
}
