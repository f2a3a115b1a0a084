// All problems and warnings of a configuration.

import { escapeText } from '../text/escape.js'

export type ConfigErrorCode =
  | 'CONFIG_NOT_FOUND'
  | 'CONFIG_UNREADABLE'
  | 'CONFIG_NOT_JSON'
  | 'CONFIG_INVALID'
  | 'CONFIG_SCHEMA'
  | 'CONFIG_PROFILE'
  | 'CONFIG_LOOP'

/** One mistake: where in the file, what is wrong there, and what would be right. */
export interface ConfigProblem {
  /** Like `schemas.default.mcpServers.fs.timeout`; empty for the file as a whole. */
  readonly path: string
  readonly problem: string
  readonly hint: string
  /** The line of the file, counted from 1; absent for what no line has. */
  readonly line?: number
}

export interface ConfigWarning {
  readonly path: string
  readonly message: string
  readonly line?: number
}

/** The caller's mistake in a configuration; `problems` has every one of them, and `warnings` what may have led to them. */
export class ConfigError extends Error {
  readonly code: ConfigErrorCode
  readonly problems: readonly ConfigProblem[]
  readonly warnings: readonly ConfigWarning[]
  /** The file, or what stands for it. */
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

/** One problem as one line of text, safe for a terminal. */
function problemLine({ problem, hint, ...place }: ConfigProblem): string {
  return escapeText(`  ${placeText(place)}${problem}${hint === '' ? '' : `; ${hint}`}`)
}

/** One warning as one line of text, safe for a terminal. */
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

/** Longest piece of a wrong value that a message repeats, in UTF-16 units. */
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
