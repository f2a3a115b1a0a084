// What clients of either era say in the figures that compare them.

import type { Envelope } from './wire.js'

const PREFIX = 'io.modelcontextprotocol'
const STATELESS_REVISION = '2026-07-28'
const SESSION_REVISION = '2025-11-25'
const TOOL = 'era__echo'
export const BLOB_TOOL = 'era__blob'

const claims = `"${PREFIX}/protocolVersion":"${STATELESS_REVISION}","${PREFIX}/clientInfo":{"name":"bench","version":"1"},"${PREFIX}/clientCapabilities":{}`

const INITIALIZE_PARAMS = `{"protocolVersion":"${SESSION_REVISION}","capabilities":{},"clientInfo":{"name":"bench","version":"1"}}`
const DISCOVER_PARAMS = `{"_meta":{${claims}}}`

/** Who speaks how. */
export interface Cell {
  readonly name: string
  readonly isNewClient: boolean
  readonly isNewServer: boolean
}

/** The first is what the others are compared with. */
export const CELLS: readonly Cell[] = [
  { name: 'old client, old server', isNewClient: false, isNewServer: false },
  { name: 'new client, new server', isNewClient: true, isNewServer: true },
  { name: 'new client, old server', isNewClient: true, isNewServer: false },
  { name: 'old client, new server', isNewClient: false, isNewServer: true },
]

function message(id: number, method: string, params: string): string {
  return `{"jsonrpc":"2.0","id":${id},"method":"${method}","params":${params}}`
}

/** The first request of its client. */
export function opening({ isNewClient }: Cell): string {
  return isNewClient
    ? message(0, 'server/discover', DISCOVER_PARAMS)
    : message(0, 'initialize', INITIALIZE_PARAMS)
}

/** One small call of the tool. */
export function call(cell: Cell, id: number): string {
  return message(
    id,
    'tools/call',
    `{"name":"${TOOL}","arguments":{"text":"packages/core/src"}${metaOf(cell)}}`,
  )
}

/** A call for a result of so many bytes, which says where the id of that is to stand. */
export function blobCall(cell: Cell, id: number, tool: string, bytes: number, envelope: Envelope): string {
  const args = `{"bytes":${bytes},"envelope":"${envelope}"}`
  return message(id, 'tools/call', `{"name":"${tool}","arguments":${args}${metaOf(cell)}}`)
}

/** What a client without a session says of itself in each request. */
function metaOf({ isNewClient }: Cell): string {
  return isNewClient ? `,"_meta":{${claims}}` : ''
}
