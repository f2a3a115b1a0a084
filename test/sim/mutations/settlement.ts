// What is wrong about how requests are answered.

import { type Mutation, mutation } from './mutation.js'

export const settlement: readonly Mutation[] = [
  mutation('every answer leaves twice', 'answered-twice', [
    'proxy/session/answers',
    'this.#peer.send(answer, answerHead(kind, id));',
    'this.#peer.send(answer, answerHead(kind, id)); this.#peer.send(answer, answerHead(kind, id));',
  ]),
  mutation('errors are not said', 'lost', [
    'proxy/session/session-calls',
    'answers.settle(call, outcome);',
    "if (outcome.kind !== 'failed') answers.settle(call, outcome);",
  ]),
  mutation('calls of a server that ends are forgotten', 'late', [
    'upstream/pool/inflight-calls',
    'flight.call.fail(failure().body);',
    ';',
  ]),
  mutation('deadlines are a second late', 'late', [
    'mcp/call-deadline',
    'this.#quietSince + this.times.timeoutMs;',
    'this.#quietSince + this.times.timeoutMs + 1000;',
  ]),
  mutation('a cancelled call is refused', 'after-cancel', [
    'mcp/call',
    "this.settle({ kind: 'cancelled' });",
    "this.fail({ code: -32603, message: 'cancelled' });",
  ]),
  mutation(
    'progress of a cancelled call goes on',
    'after-cancel',
    ['upstream/pool/inflight-calls', 'this.#tokens.retire(flight.token);', ''],
    ['upstream/pool/inflight-calls', 'this.#tokens.release(flight.token);', ''],
  ),
  mutation('answers have an id of their own', 'unasked', [
    'mcp/eras/legacy-client',
    'voice.answerBytes(outcome.frame, outcome.edits, id)',
    'voice.answerBytes(outcome.frame, outcome.edits, `"x"`)',
  ]),
  mutation(
    'a call is given the answer of the one before',
    ['foreign', 'wrong-answer'],
    [
      'upstream/pool/inflight-calls',
      'const outcome = this.#link.leg.speech.outcome(flight.call, frame);',
      'const kept = this.kept ?? frame; this.kept = frame; const outcome = this.#link.leg.speech.outcome(flight.call, kept);',
    ],
  ),
  mutation('a result is made up', 'made-up', [
    'upstream/pool/server-instance',
    'if (call.settled)',
    "if (call.settled || call.settle({ kind: 'result', result: '{}' }))",
  ]),
  mutation('one request at a time', 'needless-error', [
    'proxy/session/session',
    'this.#calls.open.size >= limits.callsMax',
    'this.#calls.open.size >= 1',
  ]),
  mutation('the error of a deadline does not say which', 'bad-timeout', [
    'mcp/call-timeout',
    'budget, ms };',
    'ms };',
  ]),
  mutation('deadlines are early', 'bad-timeout', [
    'mcp/call-deadline',
    'this.#quietSince + this.times.timeoutMs;',
    'this.#quietSince + this.times.timeoutMs / 2;',
  ]),
  mutation('the time of a call runs while its client is being asked', 'bad-timeout', [
    'mcp/call-deadline',
    'if (this.#questions++ === 0)',
    'if (false)',
  ]),
  mutation('the total time stands still while a client is being asked', 'late', [
    'mcp/call-deadline',
    'Math.min(this.#quietEndsAt, this.arrivedAt + this.times.totalTimeoutMs)',
    'Math.min(this.#quietEndsAt, this.#questions > 0 ? Infinity : this.arrivedAt + this.times.totalTimeoutMs)',
  ]),
  mutation('answers of a batch are not parted', 'bad-batch', [
    'proxy/session/answers',
    'buildBatch(this.#answers)',
    'buildBatch(this.#answers.map((answer) => Buffer.from(answer.toString().replace(\'{"jsonrpc":"2.0",\', \'{ "jsonrpc":"2.0",\'))))',
  ]),
]
