// Values that JSON.parse made.

import { percentDecoded } from '../../text/escape.js'
import { memberAt } from '../../text/json-object.js'

/** Array.isArray that leaves the items unknown. */
export function isJsonArray(value: unknown): value is readonly unknown[] {
  return Array.isArray(value)
}

/** The items of a list, none of anything else. */
export function listOf(value: unknown): readonly unknown[] {
  return isJsonArray(value) ? value : []
}

/** A name as a JSON pointer has it. */
export function inPointer(name: string): string {
  return name.replaceAll('~', '~0').replaceAll('/', '~1')
}

/** The inverse of `inPointer`. */
export function fromPointer(name: string): string {
  return name.replaceAll('~1', '/').replaceAll('~0', '~')
}

/** The value that a reference within a document means, such as `#/$defs/a` (RFC 6901, section 6). */
export function referredTo(root: unknown, reference: unknown): unknown {
  if (reference === '#') return root
  const [document, first, ...names] = typeof reference === 'string' ? reference.split(/[#/]/) : []
  if (document !== '' || first !== '') return undefined
  return memberAt(
    root,
    names.map((name) => fromPointer(percentDecoded(name))),
  )
}
