// Completions: what they are about, and what a server without them answers.

import { membersAt } from '../../jsonrpc/members.js'
import type { Span } from '../../jsonrpc/scan.js'
import type { Edit } from '../../jsonrpc/splice.js'
import { stringAt } from '../../jsonrpc/text.js'
import type { Call } from '../../mcp/call.js'
import type { CallTarget } from '../../upstream/contracts/upstream.js'

/** The prompt or the resource of which an argument is to be completed. */
export type Reference =
  | { readonly kind: 'prompt'; readonly name: string; readonly span: Span | undefined }
  | { readonly kind: 'resource'; readonly uri: string }

/** Undefined where it names neither. */
export function referenceOf({ frame: { line, params } }: Call): Reference | undefined {
  const members = membersAt(line, params.members.span('ref'))
  const span = members?.span('name')
  const name = stringAt(line, span)
  if (name !== undefined) return { kind: 'prompt', name, span }
  const uri = members?.string('uri')
  return uri === undefined ? undefined : { kind: 'resource', uri }
}

/** A server without completions completes nothing, which is an answer. */
export function complete(call: Call, lane: CallTarget, edits: readonly Edit[]): void {
  call.service = lane.config.name
  if (lane.view.facts?.capabilities.completions !== false) lane.call(call, edits)
  else call.settle({ kind: 'result', result: '{"completion":{"values":[]}}' })
}
