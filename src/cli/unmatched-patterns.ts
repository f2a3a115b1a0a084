// Names and patterns in the configuration that fit no tool. A misspelled one hides nothing, limits nothing and asks for nothing.

import { enabledSchemas } from '../config/config.js'
import type { Configuration, ProfileConfig } from '../config/configuration.js'
import type { ProxyListeners, ServerEvent } from '../index.js'
import { wholeCatalog } from '../proxy/routing/catalog-view.js'
import type { LogSink } from '../runtime/runtime.js'
import { matcherOf } from '../text/name-patterns.js'
import { nearest } from '../text/nearest.js'
import type { ServerConfig } from '../upstream/contracts/server-config.js'

/** A server in its schema. */
interface Member {
  readonly schema: string
  readonly server: ServerConfig
}

/** Patterns at one place of the configuration, and the servers whose tools they are for. */
interface Place {
  readonly path: string
  readonly patterns: readonly string[]
  readonly members: readonly Member[]
  /** The name of a tool at this place, from the one that its server uses. */
  readonly nameOf: (server: ServerConfig, own: string) => string
}

/** Names the patterns that fit nothing, each once, as soon as every server that a pattern is for has listed its tools. */
export class UnmatchedPatterns {
  readonly listeners: ProxyListeners
  readonly #log: LogSink
  /** By schema and server; absent while the tools are not known, since the server is starting or has none so far. */
  readonly #listed = new Map<string, readonly string[]>()
  readonly #told = new Set<string>()
  #places: readonly Place[] = []

  constructor(config: Configuration, log: LogSink) {
    this.#log = log
    this.listeners = { server: (event) => this.#server(event) }
    this.use(config)
  }

  /** Another configuration is in force. */
  use(config: Configuration): void {
    this.#places = placesOf(config)
    this.#look()
  }

  #server(event: ServerEvent): void {
    const key = keyOf(event.schema, event.server)
    if (event.state === 'starting') this.#listed.delete(key)
    if (event.state !== 'ready' || event.toolNames === undefined || event.tools === 0) return
    this.#listed.set(key, event.toolNames)
    this.#look()
  }

  #look(): void {
    const ready: Place[] = []
    const waiting: Place[] = []
    const isListed = ({ schema, server }: Member): boolean => this.#listed.has(keyOf(schema, server.name))
    for (const place of this.#places) (place.members.every(isListed) ? ready : waiting).push(place)
    this.#places = waiting
    for (const problem of ready.flatMap((place) => this.#problemsAt(place))) {
      if (!this.#told.has(problem)) this.#log({ level: 'warn', message: `configuration: ${problem}` })
      this.#told.add(problem)
    }
  }

  #problemsAt({ path, patterns, members, nameOf }: Place): string[] {
    const names = members.flatMap(({ schema, server }) =>
      (this.#listed.get(keyOf(schema, server.name)) ?? []).map((own) => nameOf(server, own)),
    )
    return patterns
      .filter((pattern) => !names.some(matcherOf([pattern])))
      .map((pattern) => {
        const [near] = pattern.includes('*') ? [] : nearest(pattern, names)
        const hint = near === undefined ? 'mcps-proxy tools names them all' : `did you mean "${near}"?`
        return `${path} has "${pattern}", which fits none of the tools that were listed; ${hint}`
      })
  }
}

function keyOf(schema: string, server: string): string {
  return JSON.stringify([schema, server])
}

function placesOf(config: Configuration): Place[] {
  const members = enabledSchemas(config).flatMap((schema) =>
    (config.schemas.get(schema)?.servers ?? []).map((server) => ({ schema, server })),
  )
  const limits = config.limits.map(({ tools }, at) => ({ path: `limits[${at}].tools`, patterns: tools }))
  const places: Place[] = [
    ...[...config.profiles].flatMap(([name, profile]) => placesOfProfile(name, profile, members)),
    ...limits.map((limit) => ({ ...limit, members, nameOf: shownName })),
    ...members.map((member) => ({
      path: `"confirm" of '${member.server.name}'`,
      patterns: member.server.confirm.filter((rule) => typeof rule === 'string'),
      members: [member],
      nameOf: (_: ServerConfig, own: string) => own,
    })),
  ]
  return places.filter(({ patterns }) => patterns.length > 0)
}

function placesOfProfile(
  profile: string,
  { schema, servers, tools }: ProfileConfig,
  all: readonly Member[],
): Place[] {
  const { allow = [], deny, rename, set } = tools
  const rows: readonly (readonly [string, readonly string[]])[] = [
    ['allow', allow],
    ['deny', deny],
    ['rename', [...rename.keys()]],
    ['set', [...set.keys()]],
  ]
  const members = all.filter(
    (each) => each.schema === schema && (servers?.includes(each.server.name) ?? true),
  )
  return rows.map(([key, patterns]) => {
    return { path: `profiles.${profile}.tools.${key}`, patterns, members, nameOf: shownName }
  })
}

/** The name that clients without a profile see. */
function shownName(server: ServerConfig, own: string): string {
  return wholeCatalog.nameOf(server, 'tools', own)
}
