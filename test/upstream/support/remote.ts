import type { ProxyOptions } from '../../../src/index.js'
import { type Attached, type TestProxy, libraryProxy } from '../../integration/support/library.js'
import { INIT, TOOLS } from '../../transports/support/one-tool.js'
import {
  type Handler,
  type Scope,
  type Scripted,
  type ScriptedOptions,
  answerOf,
  json,
  scripted,
} from '../../transports/support/scripted.js'

export interface Remote extends Attached, TestProxy {
  readonly script: Scripted
}

/** A proxy for the HTTP server `s`, and a client with a session. `entry` extends the configuration. */
export async function remote(
  scope: Scope,
  handler: Handler,
  entry: object = {},
  options: ProxyOptions = {},
  asked: ScriptedOptions = {},
): Promise<Remote> {
  const script = await scripted(scope, handler, asked)
  const made = await libraryProxy(scope, { s: { url: script.url.href, ...entry } }, options)
  const attached = await made.attach()
  await attached.client.open()
  return { ...made, ...attached, script }
}

/** A server with sessions and the tool `work`. `other` answers all requests after the handshake. */
export function toolServer(other: Handler): Handler {
  let sessions = 0
  return (seen, response, request) => {
    if (seen.rpc === 'initialize')
      json(response, answerOf(seen.id, INIT), 200, { 'mcp-session-id': `s-${++sessions}` })
    else if (seen.rpc === 'tools/list') json(response, answerOf(seen.id, TOOLS))
    else if (seen.method !== 'POST') response.writeHead(405).end()
    else if (seen.id === undefined) response.writeHead(202).end()
    else other(seen, response, request)
  }
}

/** Answers every request with an empty result. */
export const done: Handler = (seen, response) => json(response, answerOf(seen.id, '{"content":[]}'))
