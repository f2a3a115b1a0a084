// Values that JSON.parse made.

import { percentDecoded } from '../../text/escape.js'
import { memberAt } from '../../text/json-object.js'

/** Like `Array.isArray`, with items of the type `unknown`. */
export function isJsonArray(value: unknown): value is readonly unknown[] {
  return Array.isArray(value)
}

/** The items of an array; empty for anything else. */
export function listOf(value: unknown): readonly unknown[] {
  return isJsonArray(value) ? value : []
}

/** Escapes a name for a JSON pointer (RFC 6901, section 3). */
export function inPointer(name: string): string {
  return name.replaceAll('~', '~0').replaceAll('/', '~1')
}

/** The inverse of `inPointer`. */
export function fromPointer(name: string): string {
  return name.replaceAll('~1', '/').replaceAll('~0', '~')
}

/** Resolves a reference within a document, such as `#/$defs/a` (RFC 6901, section 6). */
export function referredTo(root: unknown, reference: unknown): unknown {
  if (reference === '#') return root
  const [document, first, ...names] = typeof reference === 'string' ? reference.split(/[#/]/) : []
  if (document !== '' || first !== '') return undefined
  return memberAt(
    root,
    names.map((name) => fromPointer(percentDecoded(name))),
  )
}
