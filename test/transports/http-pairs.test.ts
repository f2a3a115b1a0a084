import { type ContractOptions, holdsConnectionContract } from '../contracts/connection.js'
import { type HttpKind, httpPair } from './support/http-pairs.js'

const carry = (value: string): string => `{"jsonrpc":"2.0","method":"say","params":{"value":${value}}}`

// POSTs use separate sockets and may overtake each other.
const toFront: ContractOptions = { carry, inOrder: false, stops: false }
const fromFront: ContractOptions = { carry, buffers: 'system-too' }

const kinds: readonly (readonly [HttpKind, ContractOptions])[] = [
  ['Streamable HTTP', fromFront],
  // The session ends with the stream, from either side.
  ['HTTP+SSE', { ...fromFront, end: 'closed TRANSPORT_IO' }],
]

for (const [kind, options] of kinds) {
  holdsConnectionContract(
    `${kind}, from client to front`,
    async (t) => {
      const { client, server } = await httpPair(t, kind)
      return { left: client, right: server }
    },
    toFront,
  )
  holdsConnectionContract(
    `${kind}, from front to client`,
    async (t) => {
      const { client, server } = await httpPair(t, kind)
      return { left: server, right: client }
    },
    options,
  )
}
