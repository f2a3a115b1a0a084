// Which variables a server uses, and whether it is unavailable because one of them is not set.

import type { ServerCommon } from '../upstream/contracts/server-config.js'
import type { Expansion } from './expand.js'
import type { Section } from './section.js'

function whatIsMissing(unset: readonly string[]): string {
  const project = unset.find((name) => name.startsWith('workspaceFolder'))
  if (project !== undefined)
    return `\${${project}} is known only in a file in .vscode or .cursor; write the folder itself`
  const [what, is] = unset.length === 1 ? ['variable', 'is'] : ['variables', 'are']
  return `${what} ${unset.join(', ')} ${is} not set`
}

/** What the variables of a server say about it; `trouble` is what their values made of its fields. */
export function expanded(
  expansion: Expansion,
  secrets: readonly string[],
  trouble: string | undefined,
): Pick<ServerCommon, 'unavailable' | 'variables' | 'secrets'> {
  const unset = [...expansion.unset]
  const variables = [...expansion.variables]
  const missing = whatIsMissing(unset)
  const broken = trouble === undefined || variables.length === 0 ? undefined : trouble
  return {
    unavailable: unset.length > 0 ? missing : broken,
    variables,
    secrets: [...new Set([...expansion.secrets, ...secrets])],
  }
}

export function expandMap(values: ReadonlyMap<string, string>, expansion: Expansion): Map<string, string> {
  return new Map([...values].map(([key, value]) => [key, expansion.text(value)]))
}

export function requireKey(section: Section, key: string, what: string): void {
  if (section.has(key)) return
  section.findings.problem(section.pathOf(key), 'is missing', `must be ${what}`)
}
