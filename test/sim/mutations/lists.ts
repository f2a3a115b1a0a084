// What is wrong about lists.

import { type Mutation, mutation } from './mutation.js'

export const lists: readonly Mutation[] = [
  mutation(
    'who never asked for a list hears of its changes',
    'needless-change',
    ['proxy/routing/list-changes', 'if (this.#known.has(kind))', 'if (true)'],
    [
      'proxy/routing/list-changes',
      'known !== undefined && !looksSame(known, this.#shown(kind))',
      'known === undefined || !looksSame(known, this.#shown(kind))',
    ],
  ),
  mutation(
    'every read of a list is a change',
    'too-many-changes',
    ['upstream/pool/lane-lists', 'if (this.items(kind) !== before)', 'if (true)'],
    [
      'proxy/routing/list-changes',
      'known !== undefined && !looksSame(known, this.#shown(kind))',
      'known !== undefined',
    ],
  ),
  mutation('a list that cannot be read is empty', 'shrunk-list', [
    'upstream/pool/lane-lists',
    'this.#failures.set(kind, why);',
    'this.#failures.set(kind, why); this.#lists.set(kind, []);',
  ]),
  mutation('changes of lists are not heard', 'stale-list', [
    'upstream/pool/lane-links',
    'return this.#lists.changed(link, row.lists);',
    'return;',
  ]),
  mutation('a server is shown as well before its tools are known', 'missing-list', [
    'upstream/pool/lane',
    "return this.#lists.failure === undefined ? 'starting' : 'error';",
    'return state;',
  ]),
  mutation('what is kept of a server is found without its values', 'foreign-list', [
    'kept/kept-json',
    '.update(identity)',
    '',
  ]),
  mutation('what is kept of a server is found without its configuration', 'foreign-list', [
    'kept/store',
    '.update(source)',
    '',
  ]),
  mutation('a tool that was kept is called before its server has listed it', 'gone-tool', [
    'proxy/routing/router',
    'target?.lane.known.has(kind) === true && ',
    '',
  ]),
]
