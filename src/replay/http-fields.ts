// The header fields of a request as they are sent: what the transcript says, and what no request is without.

import type { HeaderField } from './http-line.js'
import type { Filled } from './pattern.js'

export interface FieldOptions {
  readonly url: URL
  /** Of every request of the transcript, as far as values are known and there is a body to describe. */
  readonly common: readonly HeaderField<Filled>[]
  /** From the command line. */
  readonly given: Readonly<Record<string, string>>
  /** Of this request; they stand above the others. */
  readonly fields: readonly HeaderField<Filled>[]
  readonly body: Buffer | undefined
}

/** Names and values in turn. */
export function requestFields(
  { url, common, given, fields, body }: FieldOptions,
  textOf: (filled: Filled) => string | undefined,
): string[] {
  const isNeeded = ({ name }: HeaderField<Filled>): boolean =>
    !names(fields, name) && (body !== undefined || name.toLowerCase() !== 'content-type')
  const own = [...common.filter(isNeeded), ...fields]
  const written = own.flatMap(({ name, values }) =>
    (values ?? []).flatMap((value) => {
      const text = textOf(value)
      return text === undefined ? [] : [name, text]
    }),
  )
  const length = body === undefined ? [] : [['Content-Length', String(body.length)] as const]
  const others = [['Host', url.host] as const, ...Object.entries(given), ...length]
  return [...others.filter(([name]) => !names(own, name)).flat(), ...written]
}

function names(fields: readonly HeaderField<Filled>[], name: string): boolean {
  return fields.some((field) => field.name.toLowerCase() === name.toLowerCase())
}
