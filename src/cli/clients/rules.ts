// The permission rules of clients that name servers, and what they have to be once the servers stand behind one entry.
//
// A rule that refuses something goes on refusing it after its server has moved.

import { readJson } from '../../config/json-syntax.js'
import { renameMember, replaceValue } from '../../config/json-text.js'
import { isObject } from '../../text/json-object.js'
import { publicName } from '../../mcp/names.js'
import { type Client, type UserMachine, fileBelow, setOr } from './table.js'

/** The servers of one client that move. */
export interface Moves {
  /** Names in the client's file -> names in ours. */
  readonly names: ReadonlyMap<string, string>
  /** The name of our entry in the client's file. */
  readonly own: string
}

/** A file that may have rules. */
export interface RuleFile {
  readonly path: string
  /** Whether it belongs to this user alone, so that `import` may change it. */
  readonly mayRewrite: boolean
  readonly syntax: RuleSyntax
}

export interface FoundRule {
  readonly path: string
  readonly rule: string
  /** Undefined where no rule says the same. */
  readonly becomes: string | undefined
  readonly isRewritten: boolean
}

interface RuleSyntax {
  /** The places of rules: lists of texts, or an object whose names are rules. */
  readonly lists: readonly (readonly string[])[]
  readonly names: readonly (readonly string[])[]
  /** The members whose values are expressions over names of tools; absent: none. */
  readonly expressions?: (file: unknown) => readonly (readonly (string | number)[])[]
  readonly rewriteExpression?: (expression: string, moves: Moves) => string
  /** Undefined for a rule of other servers; `becomes` is undefined where no rule says the same. */
  readonly rewrite: (rule: string, moves: Moves) => { readonly becomes: string | undefined } | undefined
}

/** The files that may name servers of this client; `value` is the file with its servers. */
export function ruleFilesOf(client: Client, machine: UserMachine, value: unknown): RuleFile[] {
  if (client.name === 'claude-code') {
    const settings = fileBelow(machine, setOr(machine, 'CLAUDE_CONFIG_DIR', '.claude'), 'settings.json')
    const projects = isObject(value) && isObject(value['projects']) ? Object.keys(value['projects']) : []
    const below = (folder: string, name: string): string => fileBelow(machine, folder, '.claude', name)
    return [
      ruleFile(settings, claudeCode),
      ...projects.flatMap((folder) => [
        ruleFile(below(folder, 'settings.local.json'), claudeCode),
        // Others share it.
        ruleFile(below(folder, 'settings.json'), claudeCode, false),
      ]),
    ]
  }
  if (client.name === 'cursor')
    return [
      ruleFile(fileBelow(machine, '.cursor', 'permissions.json'), cursor),
      ruleFile(fileBelow(machine, '.cursor', 'cli-config.json'), cursorCommand),
    ]
  if (client.name === 'vscode')
    return [ruleFile(client.path(machine).replace(/mcp\.json$/, 'settings.json'), vscode)]
  return []
}

function ruleFile(path: string, syntax: RuleSyntax, mayRewrite = true): RuleFile {
  return { path, mayRewrite, syntax }
}

/** The rules of a file that name servers that move, and the text with those that are rewritten. */
export function rewriteRules(
  { path, mayRewrite, syntax }: RuleFile,
  text: string,
  moves: Moves,
): { readonly found: readonly FoundRule[]; readonly after: string } {
  const result = readJson(text)
  if (result.kind === 'mistake') return { found: [], after: text }
  const found: FoundRule[] = []
  let after = text
  const change = (rule: string, apply: (becomes: string) => string): void => {
    const rewritten = syntax.rewrite(rule, moves)
    if (rewritten === undefined) return
    const { becomes } = rewritten
    found.push({ path, rule, becomes, isRewritten: mayRewrite && becomes !== undefined })
    if (mayRewrite && becomes !== undefined) after = apply(becomes)
  }
  for (const list of syntax.lists) {
    const rules = memberAt(result.value, list)
    if (!Array.isArray(rules)) continue
    for (const [at, rule] of rules.entries())
      if (typeof rule === 'string') change(rule, (becomes) => replaceValue(after, [...list, at], becomes))
  }
  for (const place of syntax.expressions?.(result.value) ?? []) {
    const rule = memberAt(result.value, place)
    const becomes = typeof rule === 'string' ? syntax.rewriteExpression?.(rule, moves) : undefined
    if (typeof rule !== 'string' || becomes === undefined || becomes === rule) continue
    found.push({ path, rule, becomes, isRewritten: mayRewrite })
    if (mayRewrite) after = replaceValue(after, [...place], becomes)
  }
  for (const owner of syntax.names) {
    const rules = memberAt(result.value, owner)
    if (!isObject(rules)) continue
    for (const rule of Object.keys(rules))
      change(rule, (becomes) => renameMember(after, [...owner, rule], becomes))
  }
  return { found, after }
}

const claudeCode: RuleSyntax = {
  lists: ['allow', 'ask', 'deny'].map((kind) => ['permissions', kind]),
  names: [],
  expressions: matchersIn,
  rewriteExpression: (matcher, { names, own }) =>
    [...names].reduce((text, [name, to]) => {
      if (!/^[A-Za-z0-9_-]+$/.test(to)) return text
      const prefix = new RegExp(`(?<![A-Za-z0-9_-])mcp__${inClaudeCode(name)}(?![A-Za-z0-9-])(?!_(?!_))`, 'g')
      return text.replaceAll(prefix, `mcp__${own}__${to}`)
    }, matcher),
  rewrite: (rule, { names, own }) => {
    const server = longest(names, (name) => {
      const prefix = `mcp__${inClaudeCode(name)}`
      return rule === prefix || rule.startsWith(`${prefix}__`) ? prefix : undefined
    })
    if (server === undefined) return undefined
    const tool = rule.slice(server.prefix.length + 2)
    return { becomes: renamed(server.to, tool === '' ? '*' : tool, (name) => `mcp__${own}__${name}`) }
  },
}

/** Hooks say which tools they are for by a regular expression. */
function matchersIn(file: unknown): (readonly (string | number)[])[] {
  const hooks = isObject(file) && isObject(file['hooks']) ? file['hooks'] : {}
  return Object.entries(hooks).flatMap(([event, matchers]) =>
    Array.isArray(matchers) ? matchers.map((_, at) => ['hooks', event, at, 'matcher']) : [],
  )
}

/** The name of a server in names of tools. */
function inClaudeCode(name: string): string {
  return name.replaceAll(/[^A-Za-z0-9_-]/g, '_')
}

/** `server:tool`, and `*` for every server. */
function cursorRule(pattern: RegExp, written: (rule: string) => string): RuleSyntax['rewrite'] {
  return (rule, { names, own }) => {
    const [, server = '', tool = ''] = pattern.exec(rule) ?? []
    if (server === '*') return tool === '*' || tool === '' ? undefined : { becomes: undefined }
    const to = names.get(server)
    return to === undefined ? undefined : { becomes: renamed(to, tool, (name) => written(`${own}:${name}`)) }
  }
}

const cursor: RuleSyntax = {
  lists: [['mcpAllowlist']],
  names: [],
  rewrite: cursorRule(/^([^:]+):(.+)$/, (rule) => rule),
}

const cursorCommand: RuleSyntax = {
  lists: [
    ['permissions', 'allow'],
    ['permissions', 'deny'],
  ],
  names: [],
  rewrite: cursorRule(/^Mcp\(([^:]+):(.+)\)$/, (rule) => `Mcp(${rule})`),
}

const vscode: RuleSyntax = {
  lists: [],
  names: [['chat.tools.eligibleForAutoApproval'], ['chat.mcp.serverSampling']],
  rewrite: (rule, { names, own }) => {
    // The right of one server to ask a model must not become the right of all servers.
    const sampling = [...names.keys()].find((name) => rule.endsWith(`: ${name}`))
    if (sampling !== undefined) return { becomes: undefined }
    const [, server = '', tool = ''] = /^([^/]+)\/(.+)$/.exec(rule) ?? []
    const to = names.get(server)
    return to === undefined ? undefined : { becomes: renamed(to, tool, (name) => `${own}/${name}`) }
  },
}

/** A tool of a server by its public name; a pattern only where public names begin with the unchanged name of the server. */
function renamed(server: string, tool: string, written: (name: string) => string): string | undefined {
  if (!tool.includes('*')) return written(publicName(server, tool))
  return /^[A-Za-z0-9_-]+$/.test(server) ? written(`${server}__${tool}`) : undefined
}

function longest(
  names: ReadonlyMap<string, string>,
  prefixOf: (name: string) => string | undefined,
): { readonly prefix: string; readonly to: string } | undefined {
  const fits = [...names].flatMap(([name, to]) => {
    const prefix = prefixOf(name)
    return prefix === undefined ? [] : [{ prefix, to }]
  })
  return fits.sort((one, other) => other.prefix.length - one.prefix.length)[0]
}

function memberAt(value: unknown, path: readonly (string | number)[]): unknown {
  return path.reduce<unknown>(
    (at, name) => (Array.isArray(at) ? at[Number(name)] : isObject(at) ? at[name] : undefined),
    value,
  )
}
