// Names and patterns in the configuration that fit nothing. A misspelled one hides nothing, limits nothing and asks for nothing.

import { enabledSchemas } from '../config/config.js'
import type { Configuration, ProfileConfig } from '../config/configuration.js'
import type { ProxyListeners, ServerEvent } from '../index.js'
import type { ListKind } from '../mcp/methods.js'
import { hasPrefixOf, usualName } from '../proxy/routing/views.js'
import type { LogSink } from '../runtime/runtime.js'
import { matcherOf } from '../text/name-patterns.js'
import { nearest } from '../text/nearest.js'
import type { ServerConfig } from '../upstream/contracts/server-config.js'

interface Member {
  readonly schema: string
  readonly server: ServerConfig
}

/** Patterns at one place of the configuration, and the servers that they are for. */
interface Place {
  readonly path: string
  readonly kind: 'tools' | 'prompts' | 'resources'
  readonly patterns: readonly string[]
  readonly members: readonly Member[]
  /** The name of an item at this place, from the one that its server uses. */
  readonly nameOf: (server: ServerConfig, kind: ListKind, own: string) => string
}

type Names = Readonly<Record<ListKind, readonly string[]>>

/** Names the patterns that fit nothing, each once, as soon as every server that a pattern is for has listed or failed. */
export class UnmatchedPatterns {
  readonly listeners: ProxyListeners
  readonly #log: LogSink
  /** By schema and server, absent while it starts; undefined where it has failed. */
  readonly #listed = new Map<string, Names | undefined>()
  readonly #told = new Set<string>()
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
    if (event.state === 'ready') this.#listed.set(key, event.names)
    if (event.state === 'failed' && !this.#listed.has(key)) this.#listed.set(key, undefined)
    this.#look()
  }

  #look(): void {
    const isOver = ({ schema, server }: Member): boolean => this.#listed.has(keyOf(schema, server.name))
    this.#places = this.#places.filter((place) => {
      const { members } = place
      const hasNames = members.some((member) => this.#namesOf(member) !== undefined)
      if (!hasNames || !members.every(isOver)) return true
      for (const problem of this.#problemsAt(place)) {
        if (!this.#told.has(problem)) this.#log({ level: 'warn', message: `configuration: ${problem}` })
        this.#told.add(problem)
      }
      return false
    })
  }

  #namesOf({ schema, server }: Member): Names | undefined {
    return this.#listed.get(keyOf(schema, server.name))
  }

  #problemsAt({ path, kind, patterns, members, nameOf }: Place): string[] {
    const listed = (of: ListKind): string[] =>
      members.flatMap((member) =>
        (this.#namesOf(member)?.[of] ?? []).map((own) => nameOf(member.server, of, own)),
      )
    const names = listed(kind)
    // A pattern may be for what a template stands for.
    if (kind === 'resources' && listed('templates').length > 0) return []
    const mayBeOf = (member: Member, pattern: string): boolean =>
      this.#namesOf(member) === undefined && member.server.prefix && hasPrefixOf(member.server, pattern)
    return patterns
      .filter((pattern) => !names.some(matcherOf([pattern])))
      .filter((pattern) => !members.some((member) => mayBeOf(member, pattern)))
      .map((pattern) => {
        const [near] = pattern.includes('*') ? [] : nearest(pattern, names)
        const all = kind === 'tools' ? '; mcps-proxy tools names them all' : ''
        const hint = near === undefined ? all : `; did you mean "${near}"?`
        return `${path} has "${pattern}", which fits none of the ${kind} that were listed${hint}`
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
  const ofTools = { kind: 'tools', nameOf: usualName } as const
  const places: Place[] = [
    ...[...config.profiles].flatMap(([name, profile]) => placesOfProfile(name, profile, members)),
    ...config.limits.map(({ tools }, at) => {
      return { ...ofTools, path: `limits[${at}].tools`, patterns: tools, members }
    }),
    ...members.map((member) => ({
      ...ofTools,
      path: `"confirm" of '${member.server.name}'`,
      patterns: member.server.confirm.filter((rule) => typeof rule === 'string'),
      members: [member],
      nameOf: (_: ServerConfig, _kind: ListKind, own: string) => own,
    })),
  ]
  return places.filter(({ patterns }) => patterns.length > 0)
}

function placesOfProfile(
  profile: string,
  { schema, servers, tools, prompts, resources }: ProfileConfig,
  all: readonly Member[],
): Place[] {
  const rows: readonly (readonly [Place['kind'], string, readonly string[]])[] = [
    ['tools', 'allow', tools.allow ?? []],
    ['tools', 'deny', tools.deny],
    ['tools', 'rename', [...tools.rename.keys()]],
    ['tools', 'set', [...tools.set.keys()]],
    ['prompts', 'allow', prompts.allow ?? []],
    ['prompts', 'deny', prompts.deny],
    ['resources', 'allow', resources.allow ?? []],
    ['resources', 'deny', resources.deny],
  ]
  const members = all.filter(
    (each) => each.schema === schema && (servers?.includes(each.server.name) ?? true),
  )
  return rows.map(([kind, key, patterns]) => {
    const path = `profiles.${profile}.${kind}.${key}`
    return { path, kind, patterns, members, nameOf: usualName }
  })
}
