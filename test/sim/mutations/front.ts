// What is wrong about clients over HTTP.

import { type Mutation, mutation } from './mutation.js'

export const front: readonly Mutation[] = [
  mutation(
    'an answer leaves on the response that waited before',
    ['foreign', 'wrong-answer'],
    [
      'transports/http-server/connection',
      'exchange.answer(message, isError);',
      '(StreamableConnection.last ?? exchange).answer(message, isError); StreamableConnection.last = exchange;',
    ],
  ),
  mutation('an answer leaves twice on a stream', 'answered-twice', [
    'transports/http-server/exchange',
    'this.#stream.send(message);\n        this.#finishIfDone();',
    '{ this.#stream.send(message); this.#stream.send(message); }\n        this.#finishIfDone();',
  ]),
  mutation('what a stream goes on with is what was told last', 'event-twice', [
    'transports/http-server/event-stream',
    'of this.#kept(after))',
    'of this.#kept(after - 1))',
  ]),
  mutation('a stream goes on one event too late', 'lost', [
    'transports/http-server/event-stream',
    'of this.#kept(after))',
    'of this.#kept(after + 1))',
  ]),
  mutation('a client that loses its connection has cancelled', 'lost', [
    'transports/http-server/exchange',
    'this.#pending = post.message.keys.length;',
    'this.#pending = post.message.keys.length; post.response.whenClosed(() => { if (this.#pending > 0) this.end(); });',
  ]),
  mutation('a session whose client went before its answer stays', 'left-session', [
    'transports/http-server/streams',
    'if (response.isClosed)',
    'if (false)',
  ]),
  mutation('the response to a cancelled call is never ended', 'left-session', [
    'transports/http-server/connection',
    'this.#exchanges.take(key)?.unanswered();',
    ';',
  ]),
  mutation('a session that is ended goes on with its calls', 'not-cancelled', [
    'transports/http-server/streamable',
    'void client.close();\n        incoming',
    'incoming',
  ]),
  mutation('what a call holds is kept when its client has gone', 'not-recovered', [
    'transports/http-server/body',
    'if (this.#isClosed)',
    'if (false)',
  ]),
  mutation('a client of the older transport that is gone stays', 'left-session', [
    'transports/http-server/event-pair',
    'gone: () => this.#end(undefined),',
    'gone: () => {},',
  ]),
  mutation('a body whose end does not come is waited for', 'late', [
    'transports/http-server/body',
    'this.#slices.add(reading.giveUp);',
    ';',
  ]),
  mutation('sessions that rest for a second are ended', 'session-lost', [
    'transports/http-server/sessions',
    '> this.#limits.sessionIdleMs',
    '> 1000',
  ]),
]
