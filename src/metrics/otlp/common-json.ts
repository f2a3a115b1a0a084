// The parts that metrics and spans have in common in OTLP/HTTP JSON.

import { version } from '../../version.js'

export interface Attribute {
  readonly key: string
  readonly value: { readonly stringValue: string }
}

/** The program that has measured. */
export const scope: object = { name: 'mcps-proxy', version }

/** Attributes without a value are left out. */
export function attributesOf(
  pairs: readonly (readonly [key: string, value: string | undefined])[],
): readonly Attribute[] {
  return pairs.flatMap(([key, value]) =>
    value === undefined ? [] : [{ key, value: { stringValue: value } }],
  )
}

export function resourceJson(resource: Readonly<Record<string, string>>): object {
  return { attributes: attributesOf(Object.entries(resource)) }
}

const NANOS_IN_MS = 1_000_000

/** Milliseconds since 1970 as nanoseconds, which a double cannot hold. */
export function nanos(ms: number): string {
  const whole = Math.floor(ms)
  return String(BigInt(whole) * BigInt(NANOS_IN_MS) + BigInt(Math.round((ms - whole) * NANOS_IN_MS)))
}
