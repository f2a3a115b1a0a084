// Names and patterns of tools in the configuration that fit nothing: a misspelled one hides and limits nothing.

import { enabledSchemas } from '../config/config.js'
import type { Configuration, ProfileConfig } from '../config/configuration.js'
import type { ProxyListeners, ServerEvent } from '../index.js'
import { hasPrefixOf, usualName } from '../proxy/routing/views.js'
import type { LogSink } from '../runtime/runtime.js'
import { matcherOf } from '../text/name-patterns.js'
import { nearest } from '../text/nearest.js'
import type { ServerConfig } from '../upstream/contracts/server-config.js'

interface Member {
  readonly schema: string
  readonly server: ServerConfig
}

/** Patterns at one place of the configuration, and the servers to which they apply. */
interface Place {
  readonly path: string
  readonly patterns: readonly string[]
  readonly members: readonly Member[]
  /** Returns the name of a tool at this place, from the server's own name. */
  readonly nameOf: (server: ServerConfig, own: string) => string
}

/** Reports each pattern that fits nothing once, as soon as every server of the pattern has listed or failed. */
export class UnmatchedPatterns {
  readonly listeners: ProxyListeners
  readonly #log: LogSink
  /** The tools by schema and server: absent while the server starts, undefined if it has failed. */
  readonly #listed = new Map<string, readonly string[] | undefined>()
  readonly #reported = new Set<string>()
  #places: readonly Place[] = []

  constructor(config: Configuration, log: LogSink) {
    this.#log = log
    this.listeners = { server: (event) => this.#server(event) }
    this.use(config)
  }

  use(config: Configuration): void {
    this.#places = placesOf(config)
    this.#look()
  }

  #server(event: ServerEvent): void {
    const key = keyOf(event.schema, event.server)
    if (event.state === 'starting') this.#listed.delete(key)
    if (event.state === 'ready') this.#listed.set(key, event.names.tools)
    if (event.state === 'failed' && !this.#listed.has(key)) this.#listed.set(key, undefined)
    this.#look()
  }

  #look(): void {
    const isOver = ({ schema, server }: Member): boolean => this.#listed.has(keyOf(schema, server.name))
    const listed = this.#places.filter(
      ({ members }) => members.every(isOver) && members.some((member) => this.#toolsOf(member) !== undefined),
    )
    for (const problem of listed.flatMap((place) => this.#problemsAt(place))) {
      if (!this.#reported.has(problem)) this.#log({ level: 'warn', message: `configuration: ${problem}` })
      this.#reported.add(problem)
    }
  }

  #toolsOf({ schema, server }: Member): readonly string[] | undefined {
    return this.#listed.get(keyOf(schema, server.name))
  }

  #problemsAt({ path, patterns, members, nameOf }: Place): string[] {
    const names = members.flatMap((member) =>
      (this.#toolsOf(member) ?? []).map((own) => nameOf(member.server, own)),
    )
    const mayBeOf = (member: Member, pattern: string): boolean =>
      this.#toolsOf(member) === undefined && member.server.prefix && hasPrefixOf(member.server, pattern)
    return patterns
      .filter((pattern) => !names.some(matcherOf([pattern])))
      .filter((pattern) => !members.some((member) => mayBeOf(member, pattern)))
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
    (config.schemas.get(schema)?.servers ?? [])
      .filter(({ disabled }) => !disabled)
      .map((server) => ({ schema, server })),
  )
  const places: Place[] = [
    ...[...config.profiles].flatMap(([name, { schema, servers, tools }]) => {
      const own = members.filter(
        (each) => each.schema === schema && (servers?.includes(each.server.name) ?? true),
      )
      return Object.entries(patternsOf(tools)).map(([key, patterns]) => {
        return { path: `profiles.${name}.tools.${key}`, patterns, members: own, nameOf: usualToolName }
      })
    }),
    ...config.limits.map(({ tools }, at) => {
      return { path: `limits[${at}].tools`, patterns: tools, members, nameOf: usualToolName }
    }),
    ...members.map((member) => ({
      path: `"confirm" of '${member.server.name}'`,
      patterns: member.server.confirm.filter((rule) => typeof rule === 'string'),
      members: [member],
      nameOf: (_: ServerConfig, own: string) => own,
    })),
  ]
  return places.filter(({ patterns }) => patterns.length > 0)
}

function usualToolName(server: ServerConfig, own: string): string {
  return usualName(server, 'tools', own)
}

function patternsOf({ allow, deny, rename, set }: ProfileConfig['tools']): Record<string, readonly string[]> {
  return { allow: allow ?? [], deny, rename: [...rename.keys()], set: [...set.keys()] }
}
