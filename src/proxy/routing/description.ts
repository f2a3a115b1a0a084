// What the servers of a proxy are together, as a client is told of them.

import { type DescribedServer, instructionsOf } from './instructions.js'
import { type ClientCapabilities, mergeCapabilities, presumedCapabilities } from '../../mcp/capabilities.js'
import type { ServerDescription } from '../../mcp/eras/leg.js'
import { isShown } from '../../mcp/extensions.js'
import { relaysTasks } from './offers-tasks.js'

/** How it is told. */
export interface DescriptionParts {
  /** Whether the instructions name the servers that are known to be down. */
  readonly namesDown: boolean
  /** Of the instructions of all servers together. */
  readonly instructionsLengthMax: number
  /** Whether the client can call tools as tasks. */
  readonly hasTasks?: boolean
  /** Whether the client says with each request what it is, and so can have the extension Tasks. */
  readonly isTyped?: boolean
}

/** In configuration order; a server that has not said yet is presumed to offer everything. */
export function describeServers(
  servers: readonly DescribedServer[],
  client: ClientCapabilities,
  { namesDown, instructionsLengthMax, hasTasks, isTyped }: DescriptionParts,
): ServerDescription {
  const reachable = servers.filter(({ view }) => view.state !== 'error')
  // Where there is none, a client that is told of nothing would not even ask what is wrong.
  const described = reachable.length > 0 ? reachable : servers
  const capabilities = described.map(({ view }) => view.facts?.capabilities ?? presumedCapabilities)
  const ofTasks = hasTasks === true ? described.filter(({ keepsTasks }) => keepsTasks) : []
  const tasks = ofTasks.flatMap(({ view }) => (view.facts?.capabilities ?? presumedCapabilities).tasks ?? [])
  const isAlone = servers.length === 1
  const shown = {
    extensions: shownExtensions(described, isAlone, isTyped === true),
    experimental: isAlone ? capabilities[0]?.experimental : undefined,
  }
  return {
    capabilities: mergeCapabilities(capabilities, client, tasks, shown),
    instructions: instructionsOf(servers, namesDown, instructionsLengthMax),
    isKnown: described.every(({ view }) => view.facts !== undefined),
  }
}

/** Of servers that have the same one, the first says its settings. */
function shownExtensions(
  servers: readonly DescribedServer[],
  isAlone: boolean,
  isTyped: boolean,
): ReadonlyMap<string, string> {
  const shown = new Map<string, string>()
  for (const server of servers) {
    const hasTasks = isTyped && relaysTasks(server)
    for (const [name, settings] of server.view.facts?.capabilities.extensions ?? [])
      if (isShown(name, hasTasks, isAlone) && !shown.has(name)) shown.set(name, settings)
  }
  return shown
}
