// The type of a result (MCP 2026-07-28, Overview: results).

import type { ResultFrame } from '../jsonrpc/frame.js'
import { membersAt } from '../jsonrpc/members.js'
import { type RoutedNames, routedNames } from '../jsonrpc/routed-names.js'
import { stringAt } from '../jsonrpc/text.js'

/** The member that says that a result is all there is, as raw JSON. */
export const COMPLETE = '"resultType":"complete"'

/** The members of results that one era has and the other has not, or has in another form. */
export const resultNames: RoutedNames = routedNames([
  'resultType',
  'ttlMs',
  'cacheScope',
  '_meta',
  'structuredContent',
])

const FIRST = Buffer.from(`{${COMPLETE}`)

/** Whether that stands first in a result: often it does, and the rest, which may be long, is not looked at. */
function beginsAsComplete(frame: ResultFrame): boolean {
  const { start } = frame.result
  // The line of a long result is not asked for, since it would be joined.
  const bytes = frame.long?.slice(start, start + FIRST.length) ?? frame.line
  const at = frame.long === undefined ? start : 0
  for (let i = 0; i < FIRST.length; i++) if (bytes[at + i] !== FIRST[i]) return false
  return true
}

/** Whether a result plainly says that it is all there is, as nearly every one does. */
export function isComplete(frame: ResultFrame): boolean {
  return frame.named?.says('resultType', 'complete') ?? beginsAsComplete(frame)
}

/** The type that a result names; undefined where it names none, and empty where that is no text. */
export function typeNamed(frame: ResultFrame): string | undefined {
  if (isComplete(frame)) return 'complete'
  const { named } = frame
  const members = named === undefined || named.isOdd ? membersAt(frame.line, frame.result) : named
  const span = members?.span('resultType')
  return span && (stringAt(frame.line, span) ?? '')
}
