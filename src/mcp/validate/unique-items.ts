// `uniqueItems` in one pass.
//
// Comparing every item with every other takes minutes for a list that fits into
// one message. Strings, numbers and literals go into a set as they are, and
// what has members goes in as text with its members sorted.

import { write } from '../../jsonrpc/text.js'
import { isJsonArray, isJsonObject } from './json-value.js'

type Spend = (steps: number) => void

/** Whether no two items are equal; `spend` is told the work before it is done, and may throw. */
export function hasUniqueItems(items: readonly unknown[], spend: Spend): boolean {
  const scalars = new Set<unknown>()
  const structures = new Set<string>()
  spend(items.length)
  return items.every((item, index) => {
    if (typeof item !== 'object' || item === null) return isInexact(item) || addNew(scalars, item)
    return addNew(structures, canonical(item, index, spend))
  })
}

function addNew<Item>(seen: Set<Item>, item: Item): boolean {
  const before = seen.size
  return seen.add(item).size > before
}

/** Two integers beyond 2^53 may differ and read the same, so they are equal to nothing. */
function isInexact(value: unknown): boolean {
  return typeof value === 'number' && Math.abs(value) > Number.MAX_SAFE_INTEGER
}

function canonical(value: unknown, item: number, spend: Spend): string {
  spend(8)
  if (isJsonArray(value)) return `[${value.map((inner) => canonical(inner, item, spend)).join()}]`
  if (isJsonObject(value)) {
    const names = Object.keys(value).sort()
    spend(8 * names.length)
    return `{${names.map((name) => `${write(name)}:${canonical(value[name], item, spend)}`).join()}}`
  }
  if (typeof value === 'string') spend(value.length >> 4)
  return isInexact(value) ? `inexact in ${item}` : write(value)
}
