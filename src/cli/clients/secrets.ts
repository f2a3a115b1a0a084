// The values in the entries of clients that are not shown, and those that belong into the store of secrets.

import { isObject } from '../../config/kinds.js'
import {
  isPublicName,
  isPublicValue,
  secretsOfEnv,
  secretsOfHeaders,
  secretsOfUrl,
} from '../../config/secrets.js'

const secretName = /key|token|secret|password|passwd|credential|auth|(?:^|_)pat$/i

/** Of an entry in any client's form: every object may be an environment or header fields. */
export function secretsOfEntry(entry: unknown): string[] {
  return valuesIn(entry).filter((value) => !value.includes('${'))
}

function valuesIn(entry: unknown): string[] {
  if (Array.isArray(entry)) return secretsOfArguments(entry.map(String))
  if (!isObject(entry)) return typeof entry === 'string' ? secretsOfUrl(entry) : []
  const texts = new Map<string, string>()
  for (const [name, value] of Object.entries(entry)) if (typeof value === 'string') texts.set(name, value)
  const own = [...texts].filter(([name]) => secretName.test(name))
  return [
    ...own.flatMap(([, value]) => (isPublicValue(value) ? [] : [value])),
    ...Object.entries(entry).flatMap(([name, value]) => {
      if (!isObject(value)) return valuesIn(value)
      const map = new Map(Object.entries(value).map(([key, each]) => [key, String(each)]))
      if (/env/i.test(name)) return [...secretsOfEnv(map), ...valuesIn(value)]
      if (/headers/i.test(name)) return [...secretsOfHeaders(map), ...valuesIn(value)]
      return valuesIn(value)
    }),
  ]
}

/** The values of options whose names say so. */
function secretsOfArguments(args: readonly string[]): string[] {
  return args.flatMap((arg, at) => {
    const [, name = '', value] = /^--?([^=]+)(?:=(.*))?$/s.exec(arg) ?? []
    const secret = value ?? args[at + 1] ?? ''
    const isSecret = secretName.test(name) && !isPublicValue(secret) && !secret.startsWith('-')
    return isSecret ? [secret, ...secretsOfUrl(arg)] : secretsOfUrl(arg)
  })
}

/** The variables and header fields of an entry of ours whose values stand in the file as they are. */
export function secretNamesIn(entry: Readonly<Record<string, unknown>>): string[] {
  return ['env', 'headers'].flatMap((key) => {
    const values = entry[key]
    if (!isObject(values)) return []
    return Object.entries(values).flatMap(([name, value]) => {
      const isPlain = typeof value === 'string' && !value.includes('${') && !isPublicValue(value)
      return isPlain && secretName.test(name) && !isPublicName(name) ? [name] : []
    })
  })
}
