// Names and patterns in the configuration that fit no tool. A misspelled one hides nothing, limits nothing and asks for nothing.

import type { Configuration, ProfileConfig, SchemaConfig } from '../config/configuration.js'
import { matcherOf } from '../text/name-patterns.js'
import { nearest } from '../text/nearest.js'
import type { ServerConfig } from '../upstream/contracts/server-config.js'

/** Patterns at one place of the configuration, and the names that they are for. */
interface Place {
  readonly path: string
  readonly patterns: Iterable<string>
  readonly names: readonly string[]
}

/**
 * One sentence for each pattern of this schema that fits none of its tools.
 *
 * `listed` has the tools of each server, as clients without a profile see them.
 */
export function unmatchedPatterns(
  config: Configuration,
  schema: SchemaConfig,
  listed: ReadonlyMap<string, readonly string[]>,
): string[] {
  const names = [...listed.values()].flat()
  const profiles = [...config.profiles].filter(([, profile]) => profile.schema === schema.name)
  // A limit holds for the tools of all schemas, and only those of this one are known here.
  const limits = config.schemas.size === 1 ? config.limits : []
  const places: Place[] = [
    ...profiles.flatMap(([name, profile]) => placesOfProfile(name, profile, names)),
    ...limits.map(({ tools }, at) => ({ path: `limits[${at}].tools`, patterns: tools, names })),
    ...schema.servers.map((server) => ({
      path: `"confirm" of '${server.name}'`,
      patterns: server.confirm.filter((rule) => typeof rule === 'string'),
      names: ownNames(server, listed.get(server.name) ?? []),
    })),
  ]
  return places.flatMap(unmatchedAt)
}

function placesOfProfile(profile: string, { tools }: ProfileConfig, names: readonly string[]): Place[] {
  const { allow = [], deny, rename, set } = tools
  const rows: readonly (readonly [string, Iterable<string>])[] = [
    ['allow', allow],
    ['deny', deny],
    ['rename', rename.keys()],
    ['set', set.keys()],
  ]
  return rows.map(([key, patterns]) => ({ path: `profiles.${profile}.tools.${key}`, patterns, names }))
}

/** The names that the server itself uses; a tool that the configuration renames has its own name there. */
function ownNames({ name, prefix, tools }: ServerConfig, shown: readonly string[]): string[] {
  const start = prefix ? `${name}__`.length : 0
  return [...shown.map((each) => each.slice(start)), ...tools.rename.keys()]
}

function unmatchedAt({ path, patterns, names }: Place): string[] {
  return [...patterns]
    .filter((pattern) => !names.some(matcherOf([pattern])))
    .map((pattern) => {
      const [near] = pattern.includes('*') ? [] : nearest(pattern, names)
      const hint = near === undefined ? 'mcps-proxy tools names them all' : `did you mean "${near}"?`
      return `${path} has "${pattern}", which fits none of the tools that were listed; ${hint}`
    })
}
