// Sessions over Streamable HTTP, request by request, with gateways before `it-server.mjs`, whose names begin with `s__`.

import assert from 'node:assert/strict'
import { type Answer, message, messageIn, send } from '../../transports/support/http.js'
import { at, textAt } from './json.js'

export type Fields = Readonly<Record<string, string>>

export interface AtPort {
  readonly port: number
}

const version = { 'mcp-protocol-version': '2025-11-25' }

interface Opening {
  readonly capabilities?: object
  readonly clientInfo?: object | undefined
  readonly path?: string
  readonly headers?: Fields
  /** Gets the notification that the client is ready, in place of the one that opens the session. */
  readonly initialized?: AtPort
}

/** Gives the fields of later requests. */
export async function opened(opener: AtPort, opening: Opening = {}): Promise<Fields> {
  const eve = { name: 'eve', version: '1' }
  const { capabilities = {}, path = '/mcp', headers, initialized = opener } = opening
  const clientInfo = 'clientInfo' in opening ? opening.clientInfo : eve
  const params = { protocolVersion: '2025-11-25', capabilities, clientInfo }
  const answer = await send(opener.port, {
    path,
    ...(headers && { headers }),
    body: message('initialize', 0, params),
  })
  const id = answer.headers['mcp-session-id']
  assert(typeof id === 'string', answer.body)
  const fields = { 'mcp-session-id': id, ...version, ...headers }
  await send(initialized.port, { path, headers: fields, body: message('notifications/initialized') })
  return fields
}

let ids = 0

/** An id that no other request of this process has. */
export function newId(): number {
  return ++ids
}

export function ask(
  { port }: AtPort,
  headers: Fields,
  method: string,
  params: object = {},
  path = '/mcp',
): Promise<Answer> {
  return send(port, { path, headers, body: message(method, newId(), params) })
}

/** Calls a tool of `it-server.mjs`, and gives what it says. */
export async function call(to: AtPort, headers: Fields, name: string, args: object = {}): Promise<unknown> {
  const answer = await ask(to, headers, 'tools/call', { name: `s__${name}`, arguments: args })
  assert.equal(answer.status, 200, answer.body)
  return JSON.parse(textAt(messageIn(answer.body), 'result', 'content', 0, 'text'))
}

/** The params with which the process behind this gateway has got this method. */
export async function said(to: AtPort, headers: Fields, method: string): Promise<unknown[]> {
  const lines = at(await call(to, headers, 'seen'), 'lines')
  assert(Array.isArray(lines))
  const messages = lines.map((line): unknown => JSON.parse(Buffer.from(String(line), 'base64').toString()))
  return messages.filter((each) => at(each, 'method') === method).map((each) => at(each, 'params'))
}
