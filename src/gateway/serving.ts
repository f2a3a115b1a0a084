// Schemas behind one HTTP front: endpoints, pages, and the order in which they end.
//
// Loaded only when something is served over HTTP.

import { Emitter } from '../events/emitter.js'
import { type ServingEvents, SessionReports } from '../events/serving-events.js'
import type { Serving } from '../proxy/listener.js'
import { Front, type FrontOptions, type FrontRules } from './http-front.js'
import { type MorePaths, type RouteAccess, Routes, type ServedGateway } from './routes.js'

/** A front whose schemas and rules may change. */
export interface SchemasServing extends Serving {
  /** Loads what these rules need, before a change to them. */
  prepare(rules: FrontRules): Promise<void>
  /** Serves these schemas by these rules, which must have been prepared; a schema that stays keeps its sessions. */
  change(served: ServedGateway, rules: FrontRules): void
}

/**
 * Listens, and serves each schema at its own endpoint.
 *
 * @throws ConfigError when the front would be open to the network, or the system's error when it cannot listen
 */
export async function serveSchemas(
  served: ServedGateway,
  options: FrontOptions & MorePaths,
): Promise<SchemasServing> {
  const events = new Emitter<ServingEvents>(options.log)
  const access: RouteAccess = {
    metadata: (path) => front.metadata(path),
    needsScope: (path, sender) => front.needsScope(path, sender),
  }
  const routes = new Routes(served, () => options.runtime.now(), access, options)
  const front: Front = await Front.make(options, routes, new SessionReports(events))
  const address = await front.listen()
  routes.address = address
  return {
    ...address,
    url: `${address.origin}/mcp`,
    prepare: (rules) => front.prepare(rules),
    change: (next, rules) => {
      front.change(rules)
      routes.serve(next)
    },
    on: (name, listener) => events.on(name, listener),
    stop: () => front.server.stop(),
    close: () => front.server.close(),
  }
}
