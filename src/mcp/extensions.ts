// Extensions of the protocol, which clients and servers name in their capabilities (MCP 2026-07-28, Extensions).

import { membersAt } from '../jsonrpc/members.js'
import type { Span } from '../jsonrpc/scan.js'
import { rawAt, stringAt } from '../jsonrpc/text.js'

/** Results that come later, for which their client asks (the extension Tasks of 2026-07-28). */
export const TASKS = 'io.modelcontextprotocol/tasks'

/** Raw JSON of the client capabilities that a request about tasks needs. */
export const tasksRequired: string = `{"extensions":{"${TASKS}":{}}}`

/** The extensions in a capabilities object, each with its settings as raw JSON. */
export function extensionsAt(bytes: Buffer, span: Span | undefined): ReadonlyMap<string, string> {
  const members = membersAt(bytes, span)
  if (members === undefined) return none
  return new Map([...members].map(({ key, value }) => [stringAt(bytes, key) ?? '', rawAt(bytes, value)]))
}

const none: ReadonlyMap<string, string> = new Map()
