// What the servers of a proxy are together, as a client is told of them.

import { type DescribedServer, instructionsOf } from './instructions.js'
import { type ClientCapabilities, mergeCapabilities, presumedCapabilities } from '../../mcp/capabilities.js'
import type { ServerDescription } from '../../mcp/eras/leg.js'

/** How it is told. */
export interface DescriptionParts {
  /** Whether the instructions name the servers that are known to be down. */
  readonly namesDown: boolean
  /** Of the instructions of all servers together. */
  readonly instructionsLengthMax: number
  /** Whether the client can call tools as tasks. */
  readonly hasTasks?: boolean
}

/** In configuration order; a server that has not said yet is presumed to offer everything. */
export function describeServers(
  servers: readonly DescribedServer[],
  client: ClientCapabilities,
  { namesDown, instructionsLengthMax, hasTasks }: DescriptionParts,
): ServerDescription {
  const reachable = servers.filter(({ view }) => view.state !== 'error')
  // Where there is none, a client that is told of nothing would not even ask what is wrong.
  const described = reachable.length > 0 ? reachable : servers
  const capabilities = described.map(({ view }) => view.facts?.capabilities ?? presumedCapabilities)
  const ofTasks = hasTasks === true ? described.filter(({ keepsTasks }) => keepsTasks) : []
  const tasks = ofTasks.flatMap(({ view }) => (view.facts?.capabilities ?? presumedCapabilities).tasks ?? [])
  return {
    capabilities: mergeCapabilities(capabilities, client, tasks),
    instructions: instructionsOf(servers, namesDown, instructionsLengthMax),
    isKnown: described.every(({ view }) => view.facts !== undefined),
  }
}
