// The older HTTP transport: events on one response, messages to another path.
//
// MCP 2024-11-05, Transports, HTTP with SSE. The first event names the path for messages; the session lasts as long as the
// stream of events.

import type { HttpRequest } from '../http1/server.js'
import type { Bodies } from './body.js'
import type { ClientRegistry } from './client-registry.js'
import type { Owner } from './endpoint.js'
import { type Refusal, isRefusal, refuse, crowded, noSession } from './refusal.js'

/** Opens a session and its stream of events. */
export async function serveEvents(
  clients: ClientRegistry,
  { head, response }: HttpRequest,
  owner: Owner,
  messagePath: string,
): Promise<Refusal | undefined> {
  if (head.method !== 'GET') return refuse(405, 'Method not allowed', { allow: 'GET, OPTIONS' })
  // The client may have left while its token was examined.
  if (response.isClosed) return undefined
  const opened = clients.openSession('events', owner)
  if (opened === undefined) return crowded
  const { id, connection } = opened
  connection.openEvents(response)
  owner.onStream?.()
  await connection.attachTo(owner)
  connection.invite(`${messagePath}?sessionId=${id}`)
  return undefined
}

/** Accepts a message with 202; its answer is sent as an event. */
export async function serveMessage(
  clients: ClientRegistry,
  bodies: Bodies,
  request: HttpRequest,
  owner: Owner,
  query: string,
): Promise<Refusal | undefined> {
  if (request.head.method !== 'POST') return refuse(405, 'Method not allowed', { allow: 'POST, OPTIONS' })
  const id = new URLSearchParams(query).get('sessionId')
  if (id === null) return refuse(400, 'The query must name a sessionId')
  if (clients.session('events', id, owner) === undefined) return noSession
  const posted = await bodies.read(request)
  if (posted === undefined || isRefusal(posted)) return posted
  const connection = clients.session('events', id, owner)
  if (connection === undefined) return noSession
  connection.postEvent(posted)
  request.response.send(202, [])
  return undefined
}
