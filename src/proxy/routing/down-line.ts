// What a model is told of servers that are not there, so that it can tell its user.

import type { Lane } from '../../upstream/contracts/upstream.js'

/** Of one server; more says nothing that a person could not find in the log. */
const PROBLEM_LENGTH_MAX = 300

/** Why a server cannot be used, without its name and in one line. */
export function problemOf({ config: { name }, refusal, failure }: Lane): string {
  const text = (failure ?? refusal?.message ?? 'not available').replaceAll(/\s+/g, ' ')
  const named = [`'${name}': `, `'${name}' `].find((prefix) => text.startsWith(prefix))
  const problem = named === undefined ? `not started, ${text}` : text.slice(named.length)
  return problem.slice(0, PROBLEM_LENGTH_MAX)
}

/** Names the servers that are known to be down; undefined when there are none. */
export function downLine(lanes: readonly Lane[]): string | undefined {
  const down = lanes.filter(({ state }) => state === 'error')
  if (down.length === 0) return undefined
  const problems = down.map((lane) => `${lane.config.name}: ${problemOf(lane)}`)
  return `Servers that are not available now: ${problems.join('; ')}`
}
