// `${VAR}` and `${VAR:-fallback}` in the strings of one server, and `${env:VAR}` as editors write it.
//
// The rules are the shell's: the fallback stands in for a variable that is
// unset or empty and may itself contain `${…}`; what comes out of a variable is
// not expanded again. `$${` is a literal `${`. Other text in `${ }` (such as
// an editor's `${input:key}`) is left alone and warned about.

import type { ServerCommon } from '../upstream/contracts/server-config.js'
import type { Environment } from './configuration.js'
import { isPublicName, isPublicValue } from './secrets.js'

/** The result of expanding the variables of a server. */
export type Expanded = Pick<ServerCommon, 'unavailable' | 'variables' | 'secrets'>

const reference = /\$?\$\{(?:env:)?([A-Za-z_]\w*)(?::-((?:\$\{[^{}]*\}|[^}])*))?\}/g
/** Another name of `${pathSeparator}` in editors. */
const separatorSign = '${/}'
const escaped = /\$\$\{/g
const foreign = /(?<!\$)\$\{[^}]*\}?/g

/** Expands strings and remembers what it met on the way. */
export class Expansion {
  /** Every variable that was asked for. */
  readonly variables: Set<string> = new Set()
  /** Those that have no value and no fallback. */
  readonly unset: Set<string> = new Set()
  /** Values that must not be logged. */
  readonly secrets: Set<string> = new Set()
  /** `${…}` that is not a variable of ours. */
  readonly foreign: Set<string> = new Set()
  readonly #env: Environment
  readonly #known: ReadonlyMap<string, string>

  /** `known` are names that the environment need not have, such as `userHome`. */
  constructor(env: Environment, known: ReadonlyMap<string, string> = new Map()) {
    this.#env = env
    this.#known = known
  }

  /** The text with its variables put in; an unset one is empty. */
  text(value: string): string {
    if (!value.includes('${')) return value
    if (value.includes(separatorSign)) return this.text(value.replaceAll(separatorSign, '${pathSeparator}'))
    for (const [found] of value.replaceAll(reference, '').matchAll(foreign)) this.foreign.add(found)
    return this.#expand(value).replaceAll(escaped, '${')
  }

  /** The same for each value of a map. */
  map(values: ReadonlyMap<string, string>): Map<string, string> {
    return new Map([...values].map(([key, value]) => [key, this.text(value)]))
  }

  /** `trouble` is what the values of variables made of the fields of the server. */
  result(secrets: readonly string[], trouble: string | undefined): Expanded {
    return {
      unavailable: whatIsMissing([...this.unset]) ?? (this.variables.size === 0 ? undefined : trouble),
      variables: [...this.variables],
      secrets: [...new Set([...this.secrets, ...secrets])],
    }
  }

  #expand(value: string): string {
    return value.replaceAll(reference, (whole: string, name: string, fallback: string | undefined) =>
      whole.startsWith('$$') ? whole : this.#valueOf(name, fallback),
    )
  }

  #valueOf(name: string, fallback: string | undefined): string {
    const value = Object.hasOwn(this.#env, name) ? this.#env[name] : undefined
    const known = value === undefined ? this.#known.get(name) : undefined
    if (known !== undefined) return known
    this.variables.add(name)
    if (value !== undefined && (value !== '' || fallback === undefined)) {
      this.#keepSecret(name, value)
      return value
    }
    if (fallback === undefined) this.unset.add(name)
    return this.#expand(fallback ?? '')
  }

  #keepSecret(name: string, value: string): void {
    if (!isPublicName(name) && !isPublicValue(value)) this.secrets.add(value)
  }
}

function whatIsMissing(unset: readonly string[]): string | undefined {
  if (unset.length === 0) return undefined
  const project = unset.find((name) => name.startsWith('workspaceFolder'))
  if (project !== undefined)
    return `\${${project}} is known only in a file in .vscode or .cursor; write the folder itself`
  const [what, is] = unset.length === 1 ? ['variable', 'is'] : ['variables', 'are']
  return `${what} ${unset.join(', ')} ${is} not set`
}

/** Text that expands to itself. */
export function literal(value: string): string {
  return value.replaceAll('${', () => '$${')
}
