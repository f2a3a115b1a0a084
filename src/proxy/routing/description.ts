// The capabilities and instructions of all servers together.

import {
  type ClientCapabilities,
  mergeCapabilities,
  presumedCapabilities,
  isShown,
} from '../../mcp/capabilities.js'
import type { ServerDescription } from '../../mcp/eras/client-leg.js'
import { type CatalogView, soleServer } from './views.js'
import { relaysTasks } from './client-tasks.js'
import type { ServerConfig } from '../../upstream/contracts/server-config.js'
import type { ServerView } from '../../upstream/contracts/upstream.js'

export interface DescriptionOptions {
  /** The limit for the instructions of all servers together, in characters. */
  readonly instructionsLengthMax: number
  /** Whether the client can call tools as tasks. */
  readonly hasTasks?: boolean
  /** Whether each request describes the client, so that the client can have the extension Tasks. */
  readonly isStateless?: boolean
}

/** Servers are in configuration order. A server that has not answered yet is presumed to offer everything. */
export function describeServers(
  servers: readonly DescribedServer[],
  view: CatalogView,
  client: ClientCapabilities,
  { instructionsLengthMax, hasTasks, isStateless }: DescriptionOptions,
): ServerDescription {
  const reachable = servers.filter(({ view }) => view.state !== 'error')
  // Without capabilities, a client would never ask, and never see the error.
  const described = reachable.length > 0 ? reachable : servers
  const capabilities = described.map(({ view }) => view.facts?.capabilities ?? presumedCapabilities)
  const ofTasks = hasTasks === true ? described.filter(({ keepsTasks }) => keepsTasks) : []
  const tasks = ofTasks.flatMap(({ view }) => (view.facts?.capabilities ?? presumedCapabilities).tasks ?? [])
  const isAlone = soleServer(servers, view) !== undefined
  const shown = {
    extensions: shownExtensions(described, isAlone, isStateless === true),
    experimental: isAlone ? capabilities[0]?.experimental : undefined,
  }
  return {
    capabilities: mergeCapabilities(capabilities, client, tasks, shown),
    instructions: instructionsOf(servers, instructionsLengthMax),
    isKnown: described.every(({ view }) => view.facts !== undefined),
  }
}

/** If several servers have the same extension, the settings of the first one count. */
function shownExtensions(
  servers: readonly DescribedServer[],
  isAlone: boolean,
  isStateless: boolean,
): ReadonlyMap<string, string> {
  const shown = new Map<string, string>()
  for (const server of servers) {
    const hasTasks = isStateless && relaysTasks(server)
    for (const [name, settings] of server.view.facts?.capabilities.extensions ?? [])
      if (isShown(name, hasTasks, isAlone) && !shown.has(name)) shown.set(name, settings)
  }
  return shown
}

export interface DescribedServer {
  readonly config: ServerConfig
  readonly view: Pick<ServerView, 'before' | 'facts' | 'failure' | 'state'>
  /** Whether the client can own a task at this server. */
  readonly keepsTasks?: boolean
}

/** The limit for one server, in characters. The log has the details. */
const PROBLEM_LENGTH_MAX = 300

/** Instructions of a single server pass unchanged, others get headings. The last lines name unready servers. */
function instructionsOf(lanes: readonly DescribedServer[], lengthMax: number): string | undefined {
  const down = statusLines(lanes)
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

export function problemOf({ config: { name }, view: { failure, state } }: DescribedServer): string {
  if (failure === undefined && state === 'starting') return 'still starting, list again in a while'
  return problemIn(name, failure?.message ?? 'not available')
}

function problemIn(name: string, message: string): string {
  const text = message.replaceAll(/\s+/g, ' ')
  const named = [`'${name}': `, `'${name}' `].find((prefix) => text.startsWith(prefix))
  const problem = named === undefined ? `not started, ${text}` : text.slice(named.length)
  return problem.slice(0, PROBLEM_LENGTH_MAX)
}

/** Names the servers that cannot be used, and those that start and list nothing yet; undefined if there are none. */
function statusLines(servers: readonly DescribedServer[]): string | undefined {
  const [down, failed, starting]: [string[], string[], string[]] = [[], [], []]
  for (const server of servers) {
    const { config, view } = server
    const { before, facts, state } = view
    if (state === 'error') down.push(`${config.name}: ${problemOf(server)}`)
    else if (before.kind === 'silent' && before.failure !== undefined)
      failed.push(`${config.name}: ${problemIn(config.name, before.failure)}`)
    else if (state === 'starting' && facts === undefined) starting.push(config.name)
  }
  const lines = [
    ['Servers that are not available now', down.join('; ')],
    ['Servers that failed at their last start, and are started again', failed.join('; ')],
    ['Servers that are still starting, whose lists follow', starting.join(', ')],
  ].flatMap(([title, words]) => (words === '' ? [] : `${title}: ${words}`))
  return lines.length === 0 ? undefined : lines.join('\n')
}
