import { branchRules, choiceRules } from './branch-rules.js'
import type { NamedRule } from './lenient-judge.js'
import { itemRules, memberRules } from './member-rules.js'
import { typeRules, valueRules } from './value-rules.js'

/** In their order: what puts a value right comes before what looks at it. */
export const lenientRules: readonly NamedRule[] = [
  ...typeRules,
  ...branchRules,
  ...memberRules,
  ...itemRules,
  ...valueRules,
  ...choiceRules,
]
