// The permission rules of clients that name servers. Behind one entry the tools of a server have longer names, so that a
// person has to write these rules again, as docs/clients.md shows.

import { readJson } from '../../config/json-syntax.js'
import { isObject } from '../../text/json-object.js'
import { type Client, type UserMachine, fileBelow, setOr } from './table.js'

export interface FoundRule {
  readonly path: string
  readonly rule: string
}

interface RuleFile {
  readonly path: string
  /** The members that have the rules. */
  readonly places: readonly string[]
}

/** The rules that name one of these servers; `value` is the file with the servers. */
export function rulesOf(
  client: Client,
  machine: UserMachine,
  value: unknown,
  servers: readonly string[],
  read: (path: string) => string | undefined,
): FoundRule[] {
  const patterns = servers.map((name) => syntaxOf(client, name))
  return ruleFilesOf(client, machine, value).flatMap(({ path, places }) => {
    const file = readJson(read(path) ?? '')
    const root = file.kind === 'value' && isObject(file.value) ? file.value : {}
    return places
      .flatMap((place) => textsIn(root[place]))
      .filter((rule) => patterns.some((pattern) => pattern.test(rule)))
      .map((rule) => ({ path, rule }))
  })
}

function ruleFilesOf(client: Client, machine: UserMachine, value: unknown): RuleFile[] {
  if (client.name === 'claude-code') {
    const user = fileBelow(machine, setOr(machine, 'CLAUDE_CONFIG_DIR', '.claude'), 'settings.json')
    const projects = isObject(value) && isObject(value['projects']) ? Object.keys(value['projects']) : []
    const ofProjects = projects.flatMap((folder) =>
      ['settings.local.json', 'settings.json'].map((name) => fileBelow(machine, folder, '.claude', name)),
    )
    // The home folder may be a project, too.
    const paths = [...new Set([user, ...ofProjects])]
    return paths.map((path) => ({ path, places: ['permissions', 'hooks'] }))
  }
  if (client.name === 'cursor')
    return [
      { path: fileBelow(machine, '.cursor', 'permissions.json'), places: ['mcpAllowlist'] },
      { path: fileBelow(machine, '.cursor', 'cli-config.json'), places: ['permissions'] },
    ]
  if (client.name !== 'vscode') return []
  const places = ['chat.tools.eligibleForAutoApproval', 'chat.mcp.serverSampling']
  return [{ path: client.path(machine).replace(/mcp\.json$/, 'settings.json'), places }]
}

/** Every text and every name of a member below a value. */
function textsIn(value: unknown): string[] {
  if (typeof value === 'string') return [value]
  if (Array.isArray(value)) return value.flatMap(textsIn)
  if (!isObject(value)) return []
  return Object.entries(value).flatMap(([name, each]) => [name, ...textsIn(each)])
}

/** The text in front of the name of a tool of this server. */
function syntaxOf({ name: client }: Client, server: string): RegExp {
  const name = server.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`)
  if (client === 'claude-code')
    return new RegExp(
      `(?<![\\w-])mcp__${server.replaceAll(/[^\w-]/g, '_')}(?:__(?=.)|(?![A-Za-z0-9-])(?!_(?!_)))`,
    )
  if (client === 'cursor') return new RegExp(`(?<=^|\\()${name}:`)
  return new RegExp(`^${name}/|: ${name}$`)
}
