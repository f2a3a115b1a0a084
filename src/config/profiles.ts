// The profiles of a file: what some clients see of the servers.

import { namesHint } from '../text/nearest.js'
import type { NamePatterns } from '../upstream/contracts/view-rules.js'
import type { ProfileConfig, SchemaConfig } from './configuration.js'
import { plainNames, readNamed } from './named.js'
import { boolean, list, map, text } from './kinds.js'
import { whatItIs } from './problems.js'
import { type FieldsOf, type Section, field, optional } from './section.js'
import { isObject } from '../text/json-object.js'
import { memberPath } from '../text/member-path.js'

const names = list(text())

export type ProfileValues = Pick<ProfileConfig, 'servers' | 'schema' | 'prefix' | 'describe'>

export const profileFields: FieldsOf<ProfileValues> = {
  servers: optional(names, 'The servers that are seen. Absent: all.'),
  schema: field(text(), 'default', 'The schema whose servers are seen.'),
  prefix: optional(boolean(), 'In the place of prefix of the servers.'),
  describe: optional(boolean(), 'In the place of describe of the servers.'),
}

export const patternFields: FieldsOf<NamePatterns> = {
  allow: optional(names, 'Only what fits one of these is seen; "*" stands for any characters. Absent: all.'),
  deny: field(names, [], 'What fits one of these is not seen; it stands above allow.'),
}

export interface ProfileToolValues extends NamePatterns {
  readonly rename: ReadonlyMap<string, string>
}

export const profileToolFields: FieldsOf<ProfileToolValues> = {
  ...patternFields,
  rename: field(
    map({ keyPattern: '^[^\\u0000]+$', keyWanted: 'use the name of a tool', value: text() }),
    new Map(),
    'Name of a tool -> the whole name to show instead.',
  ),
}

/** Reads `profiles`; a server that is not there is a mistake. */
export function readProfiles(
  root: Section,
  schemas: ReadonlyMap<string, SchemaConfig>,
): Map<string, ProfileConfig> {
  return readNamed(root, 'profiles', plainNames, (name, section) => readProfile(name, section, schemas))
}

function readProfile(
  name: string,
  section: Section,
  schemas: ReadonlyMap<string, SchemaConfig>,
): ProfileConfig {
  const values = section.readAll(profileFields)
  const tools = section.section('tools')
  const profile = {
    name,
    ...values,
    tools: { ...tools.readAll(profileToolFields), set: readSet(tools) },
    prompts: section.section('prompts').readOnly(patternFields),
    resources: section.section('resources').readOnly(patternFields),
  }
  tools.warnOfUnknownKeys()
  section.warnOfUnknownKeys()
  const servers = schemas.get(values.schema)?.servers.map((server) => server.name)
  if (servers === undefined) {
    section.problem('schema', `is "${values.schema}"`, namesHint(values.schema, [...schemas.keys()]))
    return profile
  }
  for (const [at, server] of (values.servers ?? []).entries())
    if (!servers.includes(server))
      section.findings.problem(
        `${section.pathOf('servers')}[${at}]`,
        `is "${server}", which is no server`,
        namesHint(server, servers),
      )
  return profile
}

/** Name of a tool -> its arguments that are set, as raw JSON. */
function readSet(tools: Section): Map<string, ReadonlyMap<string, string>> {
  if (!tools.has('set')) return new Map()
  return new Map(
    tools.entries('set').flatMap(([tool, value]): [string, ReadonlyMap<string, string>][] => {
      if (isObject(value))
        return [[tool, new Map(Object.entries(value).map(([name, each]) => [name, JSON.stringify(each)]))]]
      tools.findings.problem(
        memberPath(tools.pathOf('set'), tool),
        whatItIs(value, true),
        'must be an object of arguments',
      )
      return []
    }),
  )
}
