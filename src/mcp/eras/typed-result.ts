// Results as stateless clients read them: each says its type, and those that may be kept say for how long.
//
// MCP 2026-07-28, Overview: results, and Utilities: caching.

import type { ErrorFrame, ResultFrame } from '../../jsonrpc/frame.js'
import { membersAt } from '../../jsonrpc/members.js'
import { type Edit, type EditReason, NO_EDITS } from '../../jsonrpc/splice.js'
import { stringAt } from '../../jsonrpc/text.js'
import { numberIn, statelessErrorCode } from '../error-codes.js'
import type { RequestRow } from '../methods/method-row.js'
import { COMPLETE, isObject, resultMembers, typeNamed } from '../result-type.js'
import type { Revision } from '../revisions/revision.js'

/** A result of the proxy's own, which is raw JSON, with its type; a list is out of date at once. */
export function typedResult(result: string | Uint8Array, isList: boolean): string | Uint8Array {
  const head = `{${isList ? `${COMPLETE},"ttlMs":0,"cacheScope":"private"` : COMPLETE}`
  if (typeof result === 'string') return result === '{}' ? `${head}}` : `${head},${result.slice(1)}`
  return Buffer.concat([Buffer.from(`${head},`), result.subarray(1)])
}

/** A member that a result gets. */
interface Given {
  readonly name: string
  readonly value: Uint8Array
  /** Raw JSON of the whole member. */
  readonly member: string
  /** The same before another one. */
  readonly before: Uint8Array
  readonly why: EditReason
}

/** `value` is raw JSON. */
function given(name: string, value: string, why: EditReason): Given {
  const member = `"${name}":${value}`
  return {
    name,
    value: Buffer.from(value),
    member,
    before: Buffer.from(`${member},`),
    why,
  }
}

const complete = [given('resultType', '"complete"', 'result-type')]

/** What was read of a server that says nothing of it is out of date at once, and for this client alone. */
const stale = [...complete, given('ttlMs', '0', 'cache-hint'), given('cacheScope', '"private"', 'cache-hint')]

/**
 * The edits that give a server's result its type; undefined for what is no result, or has a type that nobody knows.
 *
 * `isTask` says that the client has begun a task with it.
 */
export function resultEdits(
  frame: ResultFrame,
  form: Revision['form'],
  { route }: RequestRow,
  isTask = false,
): readonly Edit[] | undefined {
  if (!isObject(frame)) return undefined
  if (form === 'typed') return isTask ? NO_EDITS : typeEdits(frame)
  const wanted = route.to === 'uri' ? stale : complete
  const members = resultMembers(frame)
  if (members.found.length === 0) return inserted(frame, wanted)
  // A word of the same name means something else in a result that knows no types; of two, a client may read either.
  const written = members.found.flatMap(({ name, value }): Edit[] => {
    const one = wanted.find((each) => each.name === name)
    return one === undefined ? [] : [{ ...value, bytes: one.value, why: one.why }]
  })
  const missing = wanted.filter(({ name }) => members.named(name) === undefined)
  return [...inserted(frame, missing), ...written]
}

/** The one type that every result may have is the one that a result without a type has. */
function typeEdits(frame: ResultFrame): readonly Edit[] | undefined {
  const type = typeNamed(frame)
  if (type === undefined) return inserted(frame, complete)
  return type === 'complete' ? NO_EDITS : undefined
}

function inserted(frame: ResultFrame, given: readonly Given[]): readonly Edit[] {
  const at = frame.result.start + 1
  const isEmpty = resultMembers(frame).size === 0
  const [only] = given
  // Nearly every result gets its type, and nothing else.
  if (only !== undefined && given.length === 1 && !isEmpty)
    return [{ start: at, end: at, bytes: only.before, why: only.why }]
  return given.map(({ member, before, why }, index) => {
    const bytes = isEmpty ? Buffer.from(index > 0 ? `,${member}` : member) : before
    return { start: at, end: at, bytes, why }
  })
}

/** The edits by which an error of a server becomes one that a stateless client knows. */
export function errorEdits({ line, error }: ErrorFrame, form: Revision['form']): readonly Edit[] {
  // Of two, or of one with escapes in its name, nobody knows which one a client reads.
  return [...(membersAt(line, error) ?? [])].flatMap(({ key, value }): Edit[] => {
    if (stringAt(line, key) !== 'code') return []
    const code = numberIn(line, value)
    const known = statelessErrorCode(code, form)
    // What is no number means nothing, and stays.
    return Object.is(known, code) ? [] : [{ ...value, bytes: Buffer.from(String(known)), why: 'error-code' }]
  })
}
