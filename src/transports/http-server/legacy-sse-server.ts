// The older HTTP transport: events on one response, messages to another path.
//
// MCP 2024-11-05, Transports, HTTP with SSE. The first event names the path for messages; the session lasts as long as the
// stream of events.

import type { Bodies } from './body.js'
import type { ClientRegistry } from './client-registry.js'
import type { EndpointRequest } from './endpoint.js'
import { type Refusal, isRefusal, refuse, crowded, noSession } from './refusal.js'

/** Opens a session and its stream of events. */
export async function serveEvents(
  clients: ClientRegistry,
  asked: EndpointRequest,
  messagePath: string,
): Promise<Refusal | undefined> {
  const { head, response } = asked
  if (head.method !== 'GET') return refuse(405, 'Method not allowed', { allow: 'GET, OPTIONS' })
  // The client may have left while its token was examined.
  if (response.isClosed) return undefined
  const opened = clients.openSession('events', asked)
  if (opened === undefined) return crowded
  const { id, connection } = opened
  connection.openEvents(response)
  asked.onStream?.()
  await connection.attachTo(asked)
  connection.invite(`${messagePath}?sessionId=${id}`)
  return undefined
}

/** Accepts a message with 202; its answer is sent as an event. */
export async function serveMessage(
  clients: ClientRegistry,
  bodies: Bodies,
  asked: EndpointRequest,
): Promise<Refusal | undefined> {
  if (asked.head.method !== 'POST') return refuse(405, 'Method not allowed', { allow: 'POST, OPTIONS' })
  const id = new URLSearchParams(asked.query).get('sessionId')
  if (id === null) return refuse(400, 'The query must name a sessionId')
  if (clients.session('events', id, asked) === undefined) return noSession
  const posted = await bodies.read(asked)
  if (posted === undefined || isRefusal(posted)) return posted
  const connection = clients.session('events', id, asked)
  if (connection === undefined) return noSession
  connection.postEvent(posted)
  asked.response.send(202, [])
  return undefined
}
