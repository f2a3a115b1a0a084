import { branchRules, choiceRules } from './branch-rules.js'
import type { NamedRule } from './lenient-judge.js'
import { containsRules, itemRules, memberRules } from './member-rules.js'
import { lengthRules, typeRules, valueRules } from './value-rules.js'

/** In their order: what puts a value right comes before what looks at it. */
export const lenientRules: readonly NamedRule[] = [
  ...typeRules,
  ...branchRules,
  ...memberRules,
  ...itemRules,
  // A list that is too short is named so, as a strict check does.
  ...lengthRules,
  ...containsRules,
  ...valueRules,
  ...choiceRules,
]
