// The line at the end of the instructions that names the servers which cannot be used, and why.

import type { CallTarget } from '../../upstream/contracts/upstream.js'

/** Of one server; more says nothing that a person could not find in the log. */
const PROBLEM_LENGTH_MAX = 300

/** Why a server cannot be used, without its name and in one line. */
export function problemOf({
  config: { name },
  view: { failure },
}: Pick<CallTarget, 'config' | 'view'>): string {
  const text = (failure?.message ?? 'not available').replaceAll(/\s+/g, ' ')
  const named = [`'${name}': `, `'${name}' `].find((prefix) => text.startsWith(prefix))
  const problem = named === undefined ? `not started, ${text}` : text.slice(named.length)
  return problem.slice(0, PROBLEM_LENGTH_MAX)
}

/** Names the servers that are known to be down; undefined when there are none. */
export function downLine(lanes: readonly Pick<CallTarget, 'config' | 'view'>[]): string | undefined {
  const down = lanes.filter(({ view }) => view.state === 'error')
  if (down.length === 0) return undefined
  const problems = down.map((lane) => `${lane.config.name}: ${problemOf(lane)}`)
  return `Servers that are not available now: ${problems.join('; ')}`
}
