// The permission rules of clients that name servers. Behind one entry the tools of a server have longer names, so that a
// person has to write these rules again.

import { readJson } from '../../config/json-syntax.js'
import { isObject } from '../../text/json-object.js'
import { type Client, type UserMachine, fileBelow, setOr } from './table.js'

export interface FoundRule {
  readonly path: string
  readonly rule: string
  /** The rule with the present names; undefined where no rule says the same. */
  readonly becomes: string | undefined
}

/** The names of one client's servers: in its file, and in ours. */
export interface Moves {
  readonly names: ReadonlyMap<string, string>
  /** The name of our entry in the client's file. */
  readonly own: string
}

interface RuleFile {
  readonly path: string
  /** The members that have the rules. */
  readonly places: readonly string[]
}

/** `value` is the file with the servers. */
export function rulesOf(
  client: Client,
  machine: UserMachine,
  value: unknown,
  moves: Moves,
  read: (path: string) => string | undefined,
): FoundRule[] {
  return ruleFilesOf(client, machine, value).flatMap(({ path, places }) => {
    const file = readJson(read(path) ?? '')
    const root = file.kind === 'value' && isObject(file.value) ? file.value : {}
    const rules = places.flatMap((place) => textsIn(root[place]))
    return rules.flatMap((rule) => {
      const [move] = [...moves.names].filter(([name]) => syntaxOf(client, name).test(rule))
      if (move === undefined) return []
      const becomes = /^[A-Za-z0-9_-]+$/.test(move[1]) ? rewritten(client, rule, moves) : undefined
      return [{ path, rule, becomes }]
    })
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

/** What stands in front of the name of a tool of this server. */
function syntaxOf({ name: client }: Client, server: string): RegExp {
  const name = server.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`)
  if (client === 'claude-code')
    return new RegExp(
      `(?<![\\w-])mcp__${server.replaceAll(/[^\w-]/g, '_')}(?:__(?=.)|(?![A-Za-z0-9-])(?!_(?!_)))`,
      'g',
    )
  if (client === 'cursor') return new RegExp(`(?<=^|\\()${name}:`, 'g')
  return new RegExp(`^${name}/|: ${name}$`, 'g')
}

function rewritten(client: Client, rule: string, { names, own }: Moves): string | undefined {
  // The right of one server to ask a model must not become the right of all servers.
  if (client.name === 'vscode' && !rule.includes('/')) return undefined
  const start = client.name === 'vscode' ? `${own}/` : client.name === 'cursor' ? `${own}:` : `mcp__${own}__`
  return [...names].reduce((text, [name, to]) => {
    const whole = text.replaceAll(syntaxOf(client, name), `${start}${to}__`)
    return whole.endsWith('__') ? `${whole}*` : whole
  }, rule)
}
