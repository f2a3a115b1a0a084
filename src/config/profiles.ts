// The profiles of a file: what some clients see of the servers.

import { namesHint } from '../text/nearest.js'
import type { ProfileConfig, SchemaConfig } from './configuration.js'
import { type Kind, boolean, list, map, text, plainNames, toolNames } from './kinds.js'
import { whatItIs } from './problems.js'
import { type ValuesOf, type Section, defaultsOf, field, object, optional, readNamed } from './section.js'
import { isObject } from '../text/json-object.js'

const names = list(text())

const patternFields = {
  allow: optional(names, 'Only what fits one of these is seen; "*" stands for any characters. Absent: all.'),
  deny: field(names, [], 'What fits one of these is not seen; it stands above allow.'),
}

const setArguments: Kind<ReadonlyMap<string, string>> = {
  wanted: 'an object of arguments',
  schema: { type: 'object' },
  read: (value, { path, findings }) => {
    if (isObject(value))
      return new Map(Object.entries(value).map(([name, each]) => [name, JSON.stringify(each)]))
    findings.problem(path, whatItIs(value, true), 'must be an object of arguments')
    return undefined
  },
}

const toolFields = {
  ...patternFields,
  rename: field(map(toolNames, text()), new Map(), 'Name of a tool -> the whole name to show instead.'),
  set: field(
    map(toolNames, setArguments, 'an object'),
    new Map(),
    'Name of a tool -> its arguments that are set, which clients neither see nor change.',
  ),
}

export type ProfileToolValues = ValuesOf<typeof toolFields>

export const profileFields = {
  servers: optional(names, 'The servers that are seen. Absent: all.'),
  schema: field(text(), 'default', 'The schema whose servers are seen.'),
  prefix: optional(boolean(), 'In the place of prefix of the servers.'),
  describe: optional(boolean(), 'In the place of describe of the servers.'),
  tools: field(object(toolFields), defaultsOf(toolFields), 'Which tools are seen, under which names.'),
  prompts: field(object(patternFields), defaultsOf(patternFields), 'Which prompts are seen.'),
  resources: field(
    object(patternFields),
    defaultsOf(patternFields),
    'Which resources and templates are seen, by their URIs.',
  ),
}

export type ProfileValues = ValuesOf<typeof profileFields>

/** Keys of `tools` that stand in the profile itself by mistake. */
const profileKeyHints: ReadonlyMap<string, string> = new Map([
  ['allow', 'write "tools": { "allow": […] }'],
  ['deny', 'write "tools": { "deny": […] }'],
  ['rename', 'write "tools": { "rename": { … } }'],
  ['set', 'write "tools": { "set": { … } }'],
])

/** Reads `profiles`; a server that is not there is a mistake. */
export function readProfiles(
  root: Section,
  schemas: ReadonlyMap<string, SchemaConfig>,
): Map<string, ProfileConfig> {
  return readNamed(root, 'profiles', plainNames, (name, section) => {
    const profile = { name, ...section.readOnly(profileFields, profileKeyHints) }
    checkServers(section, profile, schemas)
    return profile
  })
}

function checkServers(
  section: Section,
  { schema, servers: named = [] }: ProfileConfig,
  schemas: ReadonlyMap<string, SchemaConfig>,
): void {
  const servers = schemas.get(schema)?.servers.map((server) => server.name)
  if (servers === undefined)
    return section.problem('schema', `is "${schema}"`, namesHint(schema, [...schemas.keys()]))
  for (const [at, server] of named.entries())
    if (!servers.includes(server))
      section.findings.problem(
        `${section.pathOf('servers')}[${at}]`,
        `is "${server}", which is no server`,
        namesHint(server, servers),
      )
}
