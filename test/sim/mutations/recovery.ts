// What is wrong about coming back and ending.

import { type Mutation, mutation } from './mutation.js'

export const recovery: readonly Mutation[] = [
  mutation(
    'an open breaker stays open',
    ['not-recovered', 'not-ready'],
    ['upstream/pool/restarts', 'opens ? holdMs', 'opens ? 2 ** 30'],
  ),
  mutation('closing waits for ever', 'not-closed', [
    'proxy/proxy',
    'await this.#common.close();',
    'await new Promise(() => { });',
  ]),
  mutation('a process that does not heed the end of its input is left', 'left-child', [
    'upstream/process/process',
    'if (await this.#goneWithin(stdinWaitMs))',
    'if (true)',
  ]),
  mutation(
    'connections are kept',
    'left-socket',
    ['transports/http-client/channel', 'socket.setTimeout?.(restMs);', ''],
    ['transports/http-client/channel', 'this.#socket.setTimeout?.(ms);', ';'],
  ),
  mutation('deadlines of a connection that has ended go on', 'left-timer', [
    'upstream/pool/supervisor',
    "this.#to({ kind: 'closed' });",
    "this.#to({ kind: 'closed' }); this.#parts.runtime.setTimer(3600000, () => { });",
  ]),
  mutation('a client that has gone is not let go', 'left-client', [
    'proxy/session/session',
    'this.draining.end(cause)',
    'undefined',
  ]),
  mutation('a stream is not given back', 'left-stream', [
    'transports/stdio/ndjson',
    'this.#input.destroy();',
    '',
  ]),
  mutation('a message cannot be handled', 'fault', [
    'upstream/pool/inflight-calls',
    'this.#deadlines.extend(flight);\n        if (!isNews',
    "throw new Error('mutation');\n        if (!isNews",
  ]),
  mutation('an error in a timer', 'thrown', [
    'proxy/routing/list-changes',
    'this.#isTelling = false;',
    "throw new Error('mutation');",
  ]),
  mutation('a timer of the real clock', 'real-time', [
    'runtime/within',
    'let timer;',
    'let timer; setTimeout(() => { }, 1);',
  ]),
]
