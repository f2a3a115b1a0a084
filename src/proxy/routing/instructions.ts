// The instructions for a client: the words of its servers, and which of them cannot be used.

import type { ServerView } from '../../upstream/contracts/upstream.js'

/** A server, as far as what a client is told of it goes. */
export interface DescribedServer {
  readonly config: { readonly name: string }
  readonly view: Pick<ServerView, 'facts' | 'failure' | 'state'>
  /** Whether a task of the client can be its own. */
  readonly keepsTasks?: boolean
}

/** Of one server; more says nothing that a person could not find in the log. */
const PROBLEM_LENGTH_MAX = 300

/** One server's words are passed as they are; those of several stand under their names. `namesDown` asks for the line of those that are down. */
export function instructionsOf(
  lanes: readonly DescribedServer[],
  namesDown: boolean,
  lengthMax: number,
): string | undefined {
  const down = namesDown ? downLine(lanes) : undefined
  const said = lanes.flatMap((lane) => {
    const text = lane.view.facts?.instructions?.trim()
    return text === undefined || text === '' ? [] : [{ name: lane.config.name, text }]
  })
  const [first] = said
  if (lanes.length === 1 && first !== undefined && down === undefined) return first.text
  const sections = said.map(({ name, text }) => `# ${name}\n\n${text}`).join('\n\n')
  if (down === undefined) return sections === '' ? undefined : sections.slice(0, lengthMax)
  const room = Math.max(0, lengthMax - down.length - 2)
  return [...(sections === '' ? [] : [sections.slice(0, room)]), down].join('\n\n')
}

/** Why a server cannot be used, without its name and in one line. */
export function problemOf({ config: { name }, view: { failure } }: DescribedServer): string {
  const text = (failure?.message ?? 'not available').replaceAll(/\s+/g, ' ')
  const named = [`'${name}': `, `'${name}' `].find((prefix) => text.startsWith(prefix))
  const problem = named === undefined ? `not started, ${text}` : text.slice(named.length)
  return problem.slice(0, PROBLEM_LENGTH_MAX)
}

/** Names the servers that are known to be down; undefined when there are none. */
function downLine(lanes: readonly DescribedServer[]): string | undefined {
  const down = lanes.filter(({ view }) => view.state === 'error')
  if (down.length === 0) return undefined
  const problems = down.map((lane) => `${lane.config.name}: ${problemOf(lane)}`)
  return `Servers that are not available now: ${problems.join('; ')}`
}
