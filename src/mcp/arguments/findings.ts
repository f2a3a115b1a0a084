// The errors of one run, in the tree that their places in the schema make.

import type { ErrorObject } from 'ajv'

/** An error, and those of the branches that it sums up. */
export interface Finding {
  readonly error: ErrorObject
  readonly inner: readonly Finding[]
}

/** Keywords whose error follows the errors of their branches. */
const summing: ReadonlySet<string> = new Set(['anyOf', 'oneOf', 'if', 'contains', 'propertyNames'])

/** All errors, in the order in which ajv found them. */
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
  const parent = schemaPath.slice(0, -'if'.length)
  const prefixes = keyword === 'if' ? [`${parent}then/`, `${parent}else/`] : [`${schemaPath}/`]
  return (error) =>
    error.instancePath.startsWith(instancePath) &&
    prefixes.some((prefix) => error.schemaPath.startsWith(prefix))
}

/** The findings inside of one, by branch; of `contains` by item. */
export function branchesOf({ error, inner }: Finding): readonly (readonly Finding[])[] {
  const path = error.keyword === 'contains' ? 'instancePath' : 'schemaPath'
  const branches = new Map<string | undefined, Finding[]>()
  for (const finding of inner) {
    const branch = finding.error[path].slice(error[path].length + 1).split('/', 1)[0]
    const findings = branches.get(branch)
    // No copies: a list may have as many findings in one branch as it has items.
    if (findings === undefined) branches.set(branch, [finding])
    else findings.push(finding)
  }
  return [...branches.values()]
}
