// The values in server entries that belong in the secret store.

import { isObject } from '../../text/json-object.js'
import { isSecretName } from '../../text/secret-names.js'
import {
  isPublicName,
  isPublicValue,
  secretsOfArguments,
  secretsOfEnv,
  secretsOfHeaders,
} from '../../config/secrets.js'

/** A whole value that is a variable, or a scheme and a variable. */
const reference = /^(?:\w+ )?\$\{[^}]*\}$/

/** The secrets in an entry in any client's format, also in members that are not understood. */
export function secretsOfEntry(entry: unknown): string[] {
  if (Array.isArray(entry)) return secretsOfArguments(entry.map(String))
  if (!isObject(entry)) return []
  const all = Object.entries(entry).flatMap(([name, value]) => {
    // Codex names variables in `env_vars`, `env_http_headers` and `bearer_token_env_var`.
    if (/env_/.test(name)) return []
    if (typeof value === 'string') return secretsOfArguments([`${name}=${value}`])
    if (!isObject(value)) return secretsOfEntry(value)
    const texts = new Map(Object.entries(value).map(([key, each]) => [key, String(each)]))
    const own = [
      ...(/env/i.test(name) ? secretsOfEnv(texts) : []),
      ...(/header/i.test(name) ? secretsOfHeaders(texts) : []),
    ]
    return [...own, ...secretsOfEntry(value)]
  })
  return all.filter((value) => !reference.test(value))
}

const places = ['env', 'headers', 'oauth'] as const

/** The names of variables, header fields and login members of an entry whose values are secrets in plain text. */
export function secretNamesIn(entry: Readonly<Record<string, unknown>>): string[] {
  return places.flatMap((key) => {
    const values = entry[key]
    if (!isObject(values)) return []
    return Object.entries(values).flatMap(([name, value]) => {
      const isPlain = typeof value === 'string' && !value.includes('${') && !isPublicValue(value)
      return isPlain && isSecretName(name) && !isPublicName(name) ? [name] : []
    })
  })
}

export function referencesIn(entry: Readonly<Record<string, unknown>>): string[] {
  return [...JSON.stringify(entry).matchAll(/\$\{keyring:([^}"\\]+)\}/g)].map(([, name = '']) => name)
}

export interface KeptSecret {
  readonly name: string
  readonly value: string
}

const scheme = /^(?:bearer|basic|token|apikey)\s+/i

/** The stored values by name; undefined for a value that the keyring does not return. */
export type StoredSecrets = ReadonlyMap<string, string | undefined>

/**
 * Replaces the secrets of an entry with references, and returns the values that the store lacks.
 *
 * A name that the store has for another value gets a number.
 */
export function withReferences(
  server: string,
  entry: Readonly<Record<string, unknown>>,
  stored: StoredSecrets,
): { readonly entry: Readonly<Record<string, unknown>>; readonly secrets: readonly KeptSecret[] } {
  const secrets: KeptSecret[] = []
  const referring = { ...entry }
  for (const key of places) {
    const values = entry[key]
    if (!isObject(values)) continue
    const changed = { ...values }
    for (const variable of secretNamesIn({ [key]: values })) {
      const written = String(values[variable])
      const [prefix = ''] = (key === 'headers' ? scheme.exec(written) : null) ?? []
      const value = written.slice(prefix.length)
      const known = new Map([...stored, ...secrets.map((each) => [each.name, each.value] as const)])
      const name = nameFor(`${server}.${variable}`, value, known)
      if (!known.has(name)) secrets.push({ name, value })
      changed[variable] = `${prefix}\${keyring:${name}}`
    }
    referring[key] = changed
  }
  return { entry: referring, secrets }
}

const unfit = /^-|[{}\p{Cc}]/gu

/** The longest name in UTF-16 units, with room for a number. */
const NAME_LENGTH_MAX = 190

/** Returns a name that has this value or none, so that no value of another server is replaced. */
function nameFor(wanted: string, value: string, known: StoredSecrets): string {
  const name = wanted.replaceAll(unfit, '_').slice(0, NAME_LENGTH_MAX)
  for (let count = 1; ; count++) {
    const next = count === 1 ? name : `${name}-${count}`
    if (!known.has(next) || known.get(next) === value) return next
  }
}
