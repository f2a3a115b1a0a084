// Proxies that are wrong in one place each, and what must be found of each of
// them. Were one not found, its checker would be worth nothing.

import { bounds } from './mutations/bounds.js'
import { eras } from './mutations/eras.js'
import { execution } from './mutations/execution.js'
import { front } from './mutations/front.js'
import { lists } from './mutations/lists.js'
import { notices } from './mutations/notices.js'
import { recovery } from './mutations/recovery.js'
import { settlement } from './mutations/settlement.js'
import type { Mutation } from './mutations/mutation.js'

export const mutations: readonly Mutation[] = [
  ...settlement,
  ...execution,
  ...notices,
  ...lists,
  ...bounds,
  ...recovery,
  ...front,
  ...eras,
]
