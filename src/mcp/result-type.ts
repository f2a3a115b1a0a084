// The members of results by which the eras differ (MCP 2026-07-28, Overview: results).

import { OPEN_OBJECT } from '../jsonrpc/ascii.js'
import type { ResultFrame } from '../jsonrpc/frame.js'
import { Members, membersAt } from '../jsonrpc/members.js'
import { type RoutedNames, messageNamesWith, routedNames } from '../jsonrpc/routed-names.js'
import { SERVER_INFO } from './meta-keys.js'

/** The member that says that a result is all there is, as raw JSON. */
export const COMPLETE = '"resultType":"complete"'

/** The members of results that one era has and the other has not, or has in another form, or that say what came of a call. */
const resultNames: RoutedNames = routedNames(
  ['resultType', 'ttlMs', 'cacheScope', '_meta', 'structuredContent', 'isError', 'task'],
  { key: '_meta', names: routedNames([SERVER_INFO]) },
)

/** The members of a message by which it is routed, and those. */
export const messageNames: RoutedNames = messageNamesWith(resultNames)

const noMembers = new Members(Buffer.alloc(0), resultNames)

/** Whether a result is an object, as every one should be; one in parts is not joined for it. */
export function isObjectResult(frame: ResultFrame): boolean {
  const { start } = frame.result
  return (frame.long?.slice(start, start + 1)[0] ?? frame.line[start]) === OPEN_OBJECT
}

/** Those members of a result; nearly always they were found when it was read. */
export function resultMembers(frame: ResultFrame): Members {
  if (frame.named !== undefined || !isObjectResult(frame)) return frame.named ?? noMembers
  return membersAt(frame.line, frame.result, resultNames) ?? noMembers
}

/** The type that a result names; undefined where it names none, and empty where that is no text. */
export function typeNamed(frame: ResultFrame): string | undefined {
  const members = resultMembers(frame)
  const type = members.named('resultType')
  if (type === undefined) return undefined
  return members.isWritten(type, '"complete"') ? 'complete' : (members.text(type) ?? '')
}
