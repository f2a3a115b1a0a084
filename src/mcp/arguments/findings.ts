// The errors of one run, in the tree that their places in the schema make.

import type { ErrorObject } from 'ajv'

/** An error, and those of the branches that it sums up. */
export interface Finding {
  readonly error: ErrorObject
  readonly inner: readonly Finding[]
}

/** They follow the errors of their branches. */
const summing: ReadonlySet<string> = new Set(['anyOf', 'oneOf', 'if', 'contains', 'propertyNames'])

/** All of them, in the order in which they were found. */
export function findingsOf(errors: readonly ErrorObject[]): readonly Finding[] {
  let at = errors.length - 1
  const take = (isInside: (error: ErrorObject) => boolean): Finding[] => {
    const found: Finding[] = []
    for (let error = errors[at]; error !== undefined && isInside(error); error = errors[at]) {
      at--
      found.push({ error, inner: summing.has(error.keyword) ? take(insideOf(error)) : [] })
    }
    return found.toReversed()
  }
  return take(() => true)
}

function insideOf({ keyword, schemaPath, instancePath }: ErrorObject): (error: ErrorObject) => boolean {
  const prefixes = keyword === 'if' ? branchesOf(schemaPath) : [`${schemaPath}/`]
  return (error) =>
    error.instancePath.startsWith(instancePath) &&
    prefixes.some((prefix) => error.schemaPath.startsWith(prefix))
}

function branchesOf(condition: string): string[] {
  const parent = condition.slice(0, -'if'.length)
  return [`${parent}then/`, `${parent}else/`]
}

/** The findings inside of one, by branch, or by item where the items are what it sums up. */
export function branches({ error, inner }: Finding): readonly (readonly Finding[])[] {
  const groups = new Map<string, Finding[]>()
  for (const finding of inner) {
    const key =
      error.keyword === 'contains'
        ? tokenBehind(finding.error.instancePath, error.instancePath)
        : tokenBehind(finding.error.schemaPath, error.schemaPath)
    const group = groups.get(key)
    if (group === undefined) groups.set(key, [finding])
    else group.push(finding)
  }
  return [...groups.values()]
}

function tokenBehind(path: string, prefix: string): string {
  return path.slice(prefix.length + 1).split('/', 1)[0] ?? ''
}

/** A finding as the errors that a run gives which stops at the first: those of each branch, and the one that sums up. */
export function errorsOf(finding: Finding): readonly ErrorObject[] {
  const { error } = finding
  const isChoice = error.keyword === 'anyOf' || error.keyword === 'oneOf'
  const firsts = isChoice
    ? branches(finding).map(([first]) => first)
    : error.keyword === 'contains'
      ? []
      : [finding.inner[0]]
  return [...firsts.flatMap((first) => (first === undefined ? [] : errorsOf(first))), error]
}
