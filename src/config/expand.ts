// `${VAR}` and `${VAR:-fallback}` in the strings of one server, and `${env:VAR}` as editors write it.
//
// The rules are those of the shell: the fallback replaces an unset or empty variable and may contain `${…}`;
// the value of a variable is not expanded again. `$${` is a literal `${`. A reference to a secret has the same
// syntax (`references.ts`). Other text in `${ }`, such as an editor's `${command:x}`, stays, with a warning.

import type { ServerCommon } from '../upstream/contracts/server-config.js'
import type { Environment } from './configuration.js'
import { type PathBase, absoluteFile, isBareName } from './paths.js'
import { type References, type SecretReference, referenceText, unresolved, wordsOf } from './references.js'
import { isPublicName, isPublicValue, isPublicVariable } from './secrets.js'
import type { ExpandedRule } from './values.js'

/** Matches a variable with its fallback, or the form and the name of a secret. `${file:-x}` is a variable. */
const reference =
  /\$?\$\{(?:(file|cmd|keyring|input):(?!-)((?:[^{}]|\{[^{}]*\})+)|(?:env:)?([A-Za-z_]\w*)(?::-((?:\$\{[^{}]*\}|[^}])*))?)\}/g
/** Another name of `${pathSeparator}` in editors. */
const separatorSign = /(?<!\$)\$\{\/\}/g
const escaped = /\$\$\{/g
const foreign = /(?<!\$)\$\{[^}]*\}?/g

export interface ExpansionSources extends PathBase {
  readonly env: Environment
  /** Variables that are defined without the environment, such as `userHome`. */
  readonly known?: ReadonlyMap<string, string>
  readonly references?: References | undefined
}

export class Expansion {
  readonly variables: Set<string> = new Set()
  readonly unset: Set<string> = new Set()
  readonly secrets: Set<string> = new Set()
  /** Texts in `${…}` that the proxy does not expand. */
  readonly foreign: Set<string> = new Set()
  readonly failures: Set<string> = new Set()
  /** Problems of values that are wrong after the expansion of their variables. */
  readonly #wrong: string[] = []
  /** Whether a reference is unresolved, so that a text is incomplete. */
  isPartial = false
  readonly #from: ExpansionSources

  constructor(from: ExpansionSources) {
    this.#from = from
  }

  /** Why a text has no value. Undefined if every variable is set and every secret is found. */
  get missing(): string | undefined {
    const reasons = [whatIsMissing([...this.unset]) ?? [], ...this.failures].flat()
    return reasons.length === 0 ? undefined : reasons.join('; ')
  }

  /** Returns the text with its variables expanded. An unset variable is empty. */
  text(value: string): string {
    if (!value.includes('${')) return value
    const written = value.replaceAll(separatorSign, () => '${pathSeparator}')
    for (const [found] of written.replaceAll(reference, '').matchAll(foreign)) this.foreign.add(found)
    return this.#expand(written).replaceAll(escaped, '${')
  }

  textOf(key: string, written: string, { expected, isRight }: ExpandedRule): string {
    const value = this.text(written)
    if (!isRight(value))
      this.#wrong.push(
        `${key} ${value === '' ? 'is empty' : 'is wrong'} after its variables are replaced; it must be ${expected}`,
      )
    return value
  }

  addSecret(value: string): void {
    if (!isPublicValue(value)) this.secrets.add(value)
  }

  result(): Pick<ServerCommon, 'unavailable' | 'variables' | 'secrets'> {
    return {
      unavailable: this.missing ?? (this.isPartial ? undefined : this.#wrong[0]),
      variables: [...this.variables],
      secrets: [...this.secrets],
    }
  }

  #expand(value: string): string {
    return value.replaceAll(reference, (whole: string, ...[form, name, variable, fallback]: Groups) => {
      if (whole.startsWith('$$')) return whole
      if (variable !== undefined) return this.#valueOf(variable, fallback)
      return form === undefined || name === undefined ? whole : this.#secret({ form, name })
    })
  }

  #valueOf(name: string, fallback: string | undefined): string {
    const { env, known } = this.#from
    const value = Object.hasOwn(env, name) ? env[name] : undefined
    const own = value === undefined ? known?.get(name) : undefined
    if (own !== undefined) return own
    this.variables.add(name)
    if (value !== undefined && (value !== '' || fallback === undefined)) {
      if (!isPublicName(name) && !isPublicVariable(value)) this.secrets.add(value)
      return value
    }
    if (fallback === undefined) this.unset.add(name)
    return this.#expand(fallback ?? '')
  }

  #secret(written: SecretReference): string {
    const { references = unresolved } = this.#from
    const name = written.form === 'file' ? absoluteFile(written.name, this.#from) : written.name
    const [program = ''] = written.form === 'cmd' ? (wordsOf(name) ?? []) : []
    if (!isBareName(program)) absoluteFile(program, this.#from)
    const found = references.resolve({ form: written.form, name })
    this.variables.add(referenceText(written))
    if (found?.kind === 'value') {
      this.addSecret(found.value)
      return found.value
    }
    if (found === undefined) this.isPartial = true
    else this.failures.add(found.why)
    return ''
  }
}

type Groups = [
  form: SecretReference['form'] | undefined,
  name: string | undefined,
  variable: string | undefined,
  fallback: string | undefined,
]

function whatIsMissing(unset: readonly string[]): string | undefined {
  if (unset.length === 0) return undefined
  const project = unset.find((name) => name.startsWith('workspaceFolder'))
  if (project !== undefined)
    return `\${${project}} is known only in a file in .vscode or .cursor; write the folder itself`
  const [what, is] = unset.length === 1 ? ['variable', 'is'] : ['variables', 'are']
  return `${what} ${unset.join(', ')} ${is} not set`
}

/** Returns text that expands to `value`. */
export function literal(value: string): string {
  return value.replaceAll('${', () => '$${')
}
