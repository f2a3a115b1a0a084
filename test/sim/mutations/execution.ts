// What is wrong about what servers are given to do.

import { type Mutation, mutation } from './mutation.js'

export const execution: readonly Mutation[] = [
  mutation('a call is sent again when its server ends', 'executed-twice', [
    'upstream/pool/inflight-calls',
    '(call.row.reads === true && call.repeats === 0)',
    'call.repeats === 0',
  ]),
  mutation('a call over HTTP is sent again when the connection breaks', 'executed-twice', [
    'transports/http-client/attempts',
    'return (neverSent || this.#isRepeatable) && this.#retry(undefined, again);',
    'return this.#retry(undefined, again);',
  ]),
  mutation(
    'a call that waits is begun though it was cancelled',
    'begun-in-vain',
    ['mcp/call-queue', 'call.holder = queued;', ''],
    ['mcp/call-queue', 'queued.call?.settled === true ? undefined : queued.value', 'queued.value'],
  ),
  mutation('messages are written anew', 'altered', [
    'jsonrpc/peer',
    'this.send(this.#forwarder.message(frame, all), requestHead(id, frame.method, about));',
    'this.send(Buffer.from(`${JSON.stringify(JSON.parse(((wire) => wire.joined ?? wire)(this.#forwarder.message(frame, all)).toString()))}\\n`).subarray(0, -1), requestHead(id, frame.method, about));',
  ]),
  mutation('messages are changed', 'invented', [
    'jsonrpc/peer',
    'this.send(this.#forwarder.message(frame, all), requestHead(id, frame.method, about));',
    "this.send(Buffer.from(`${((wire) => wire.joined ?? wire)(this.#forwarder.message(frame, all)).toString().replaceAll('n:c', 'n:z')}\\n`).subarray(0, -1), requestHead(id, frame.method, about));",
  ]),
  mutation(
    'a cancel is not passed on',
    ['not-cancelled', 'not-reached'],
    [
      'upstream/pool/inflight-calls',
      "peer.pass(frame, writing(frame.line, span, flight.id, 'id'), { cancels: flight.id });",
      ';',
    ],
  ),
  mutation('a server is not told of a deadline', 'not-cancelled', [
    'upstream/pool/inflight-calls',
    "cancelRequest(this.#link.peer, flight.id, 'the request timed out');",
    '',
  ]),
  mutation('a cancel is passed on twice', 'cancelled-twice', [
    'upstream/pool/inflight-calls',
    "peer.pass(frame, writing(frame.line, span, flight.id, 'id'), { cancels: flight.id });",
    "{ peer.pass(frame, writing(frame.line, span, flight.id, 'id'), { cancels: flight.id }); peer.pass(frame, writing(frame.line, span, flight.id, 'id'), { cancels: flight.id }); }",
  ]),
  mutation(
    'ids are lent whether or not they are free',
    'id-reused',
    ['jsonrpc/inflight', 'if (this.#entries.has(id))', 'return true; if (this.#entries.has(id))'],
    [
      'upstream/pool/inflight-calls',
      'const lend = this.#link.audience.only !== undefined;',
      'const lend = true;',
    ],
  ),
  mutation('who waits longest starts last', 'call-order', [
    'upstream/pool/slots',
    'const [start] = this.#line;',
    'const [start] = [...this.#line].reverse();',
  ]),
]
