// What is wrong about limits.

import { type Mutation, mutation } from './mutation.js'

export const bounds: readonly Mutation[] = [
  mutation('a message has no end', 'bad-line', [
    'transports/stdio/outbox',
    'this.#block[at + message.length] = LF;',
    '',
  ]),
  mutation('what servers log is not escaped', 'bad-log', [
    'text/escape',
    'return json.replaceAll(unsafe, unicodeEscape);',
    'return json;',
  ]),
  mutation('a client that reads nothing is kept for ever', 'backlog', [
    'proxy/session/flow',
    'this.#readServers(false);',
    'return;',
  ]),
  mutation('any number of processes', 'processes', [
    'upstream/pool/process-room',
    'return this.#processes >= this.#processesMax;',
    'return false;',
  ]),
  mutation(
    'every call that waits starts a process',
    'needless-process',
    ['upstream/pool/supervisor', 'return state.made;', 'return this.#start(true);'],
    ['upstream/pool/server-instance', 'if (!this.#isOpening)', 'if (true)'],
  ),
  mutation('no delay and no breaker', 'start-storm', [
    'upstream/pool/restarts',
    'const opens = this.#onTrial || this.#recent.length >= crashesMax;',
    'const opens = false;',
  ]),
]
