// Connections over HTTP do what every connection must do, both ways.

import { type ContractOptions, holdsConnectionContract } from '../contracts/connection.js'
import { type HttpKind, httpPair } from './support/http-pairs.js'

const carry = (value: string): string => `{"jsonrpc":"2.0","method":"say","params":{"value":${value}}}`

// Two POSTs may overtake each other, and each has a socket of its own.
const toFront: ContractOptions = { carry, inOrder: false, stops: false }
const fromFront: ContractOptions = { carry, buffers: 'system-too' }

const kinds: readonly (readonly [HttpKind, ContractOptions])[] = [
  ['Streamable HTTP', fromFront],
  // With the stream its session has ended, whoever ended it.
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
