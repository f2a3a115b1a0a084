// What a call is renamed by: from the public name to the one that its server knows.

import type { Span } from '../../jsonrpc/scan.js'
import type { Edit } from '../../jsonrpc/splice.js'
import type { Target } from './catalog.js'

export const NO_EDITS: readonly Edit[] = []

/** `span` is where the call has the public name. */
export function nameEdits(span: Span | undefined, name: string, { item, ownKey }: Target): readonly Edit[] {
  if (span === undefined || name === item.key) return NO_EDITS
  return [{ start: span.start, end: span.end, bytes: ownKey, why: 'name' }]
}
