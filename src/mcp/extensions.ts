// Extensions of the protocol, which clients and servers name in their capabilities (MCP 2026-07-28, Extensions).

import { membersAt } from '../jsonrpc/members.js'
import type { Span } from '../jsonrpc/scan.js'
import { rawAt, stringAt } from '../jsonrpc/text.js'

/** Results that come later, for which their client asks (the extension Tasks of 2026-07-28). */
export const TASKS = 'io.modelcontextprotocol/tasks'

/** How one end logs in at the other, which is the proxy: nobody else has to do with it. */
const ofLogin = [
  'io.modelcontextprotocol/oauth-client-credentials',
  'io.modelcontextprotocol/enterprise-managed-authorization',
]

/** Those that stand in results alone, so that any number of servers may have them. */
const ofData: ReadonlySet<string> = new Set(['io.modelcontextprotocol/ui'])

/** Those that never pass, and with `hasTasks` not Tasks either: it is for those who say with each request what they are. */
export function notRelayed(hasTasks: boolean): readonly string[] {
  return hasTasks ? ofLogin : [TASKS, ...ofLogin]
}

/** Whether an extension of a server is shown to clients; what only the two ends know has to be of the one server there is. */
export function isShown(name: string, hasTasks: boolean, isAlone: boolean): boolean {
  if (name === TASKS) return hasTasks
  return ofData.has(name) || (isAlone && !ofLogin.includes(name))
}

/** Raw JSON of the client capabilities that a request about tasks needs. */
export const tasksRequired: string = `{"extensions":{"${TASKS}":{}}}`

/** The extensions in a capabilities object, each with its settings as raw JSON. */
export function extensionsAt(bytes: Buffer, span: Span | undefined): ReadonlyMap<string, string> {
  const members = membersAt(bytes, span)
  if (members === undefined) return none
  return new Map([...members].map(({ key, value }) => [stringAt(bytes, key) ?? '', rawAt(bytes, value)]))
}

const none: ReadonlyMap<string, string> = new Map()
