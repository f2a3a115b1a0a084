// What is wrong about lists.

import { type Mutation, mutation } from './mutation.js'

export const lists: readonly Mutation[] = [
  mutation('who never asked for a list hears of its changes', 'needless-change', [
    'session-port',
    'if (this.#given.includes(kind))',
    'if (true)',
  ]),
  mutation('every read of a list is a change', 'too-many-changes', [
    'upstream/listing',
    'return kinds.filter((kind) => this.items(kind) !== before.get(kind));',
    'return [...kinds];',
  ]),
  mutation('a list that cannot be read is empty', 'shrunk-list', [
    'upstream/listing',
    'this.#failures.set(kind, why);',
    'this.#failures.set(kind, why); this.#lists.set(kind, []);',
  ]),
  mutation('changes of lists are not heard', 'stale-list', [
    'upstream/notices',
    'return this.#parts.refresh(link, row.lists);',
    'return;',
  ]),
  mutation('a server is shown as well before its tools are known', 'missing-list', [
    'upstream/pool-lane',
    "return this.#lists.failure === undefined ? 'starting' : 'error';",
    'return state;',
  ]),
]
