// The clients whose servers `import` moves: the places of their files, and the format of these files.
//
// A member that no row names is not understood, and its server stays in its file.

import { posix, win32 } from 'node:path'
import type { Environment } from '../../config/configuration.js'

export interface UserMachine {
  readonly platform: NodeJS.Platform
  readonly home: string
  readonly env: Environment
}

export interface Client {
  readonly name: string
  readonly title: string
  /** The absolute path of the file with the client's servers. */
  readonly path: (machine: UserMachine) => string
  readonly format: 'json' | 'toml' | 'yaml'
  readonly key: string
  readonly members: Readonly<Record<string, MemberUse>>
  /** The form of a variable in a text; undefined if it is not documented. `isBare` also allows `$NAME`. */
  readonly variables: 'none' | { readonly form: RegExp; readonly isBare?: true } | undefined
  /** The members of the proxy's entry in addition to the command and its arguments. */
  readonly entry: Readonly<Record<string, unknown>>
  /** The members of the file that name the servers that may start, and the servers that may not. */
  readonly lists?: { readonly allowed: readonly string[]; readonly excluded: readonly string[] }
  /** How the client's permission rules name a tool, before and after the import. */
  readonly rules?: readonly [before: string, after: string]
  /** Whether the client starts without the PATH of a shell on macOS. */
  readonly lacksPath: boolean
}

export type MemberUse =
  /** The member has the same meaning in the proxy's file, under this name. */
  | { readonly kind: 'text' | 'texts' | 'map' | 'path'; readonly to: string }
  | { readonly kind: 'names'; readonly to: string }
  | { readonly kind: 'type'; readonly types: Readonly<Record<string, Transport>> }
  | { readonly kind: 'url'; readonly transport: Transport | 'detected' | undefined }
  | { readonly kind: 'flag'; readonly disabledIf: boolean }
  /** A time in units of `unitMs`. */
  | { readonly kind: 'time'; readonly to: string; readonly unitMs: number }
  | { readonly kind: 'tools'; readonly to: 'allow' | 'deny' }
  /** The variable with the token of an `Authorization` header, and headers whose values are names of variables. */
  | { readonly kind: 'bearer' | 'env-headers' }
  | { readonly kind: 'login' }
  /** The member concerns only the client or its process of the server, and is left out. */
  | { readonly kind: 'ignored' }
  | { readonly kind: 'nested'; readonly members: Readonly<Record<string, MemberUse>> }

export type Transport = 'stdio' | 'http' | 'sse'

const text = (to: string): MemberUse => ({ kind: 'text', to })
const map = (to: string): MemberUse => ({ kind: 'map', to })
const path = (to: string): MemberUse => ({ kind: 'path', to })
const time = (to: string, unitMs: number): MemberUse => ({ kind: 'time', to, unitMs })
const tools = (to: 'allow' | 'deny'): MemberUse => ({ kind: 'tools', to })
const ignored: MemberUse = { kind: 'ignored' }
const disabled: MemberUse = { kind: 'flag', disabledIf: true }
const enabled: MemberUse = { kind: 'flag', disabledIf: false }

const url = (transport: Transport | 'detected' | undefined): MemberUse => ({ kind: 'url', transport })

/** People write both switches by hand, even if the documentation of a client has only one of them or none. */
const program = {
  command: text('command'),
  args: { kind: 'texts', to: 'args' },
  env: map('env'),
  disabled,
  enabled,
} as const

const usualTypes = { stdio: 'stdio', http: 'http', sse: 'sse', 'streamable-http': 'http' } as const
const type: MemberUse = { kind: 'type', types: usualTypes }

const headers = map('headers')
const oauth: MemberUse = { kind: 'login' }
const cwd = path('cwd')

const shell = /^\$\{[A-Za-z_]\w*(?::-[^}]*)?\}$/

function editorForms(others: string): { readonly form: RegExp } {
  return { form: new RegExp(String.raw`^\$\{(?:env:[A-Za-z_]\w*|${others})\}$`) }
}

/** The values of most clients. */
const usual = {
  format: 'json',
  key: 'mcpServers',
  variables: undefined,
  entry: {},
  lacksPath: false,
} as const

export const clients: readonly Client[] = [
  {
    ...usual,
    name: 'claude',
    title: 'Claude Desktop',
    path: (machine) => applicationFile(machine, 'Claude', 'claude_desktop_config.json'),
    members: { ...program, type: { kind: 'type', types: { stdio: 'stdio' } } },
    variables: 'none',
    lacksPath: true,
  },
  {
    ...usual,
    name: 'claude-code',
    title: 'Claude Code',
    path: (machine) => fileBelow(machine, setOr(machine, 'CLAUDE_CONFIG_DIR', ''), '.claude.json'),
    members: { ...program, type, url: url(undefined), headers, oauth },
    variables: { form: shell },
    entry: { type: 'stdio' },
    rules: ['mcp__SERVER__TOOL', 'mcp__mcps__SERVER__TOOL'],
  },
  {
    ...usual,
    name: 'cursor',
    title: 'Cursor',
    path: (machine) => fileBelow(machine, '.cursor', 'mcp.json'),
    members: { ...program, type, url: url('detected'), headers, envFile: path('envFile') },
    variables: editorForms('userHome|pathSeparator|/'),
    rules: ['SERVER:TOOL', 'mcps:SERVER__TOOL'],
  },
  {
    ...usual,
    name: 'vscode',
    title: 'VS Code',
    path: (machine) => applicationFile(machine, 'Code', 'User', 'mcp.json'),
    key: 'servers',
    members: {
      ...program,
      type,
      url: url('http'),
      headers,
      oauth,
      envFile: path('envFile'),
      cwd,
      dev: ignored,
      gallery: ignored,
      version: ignored,
    },
    variables: editorForms('userHome|pathSeparator|/|input:[^}]+'),
    entry: { type: 'stdio' },
    rules: ['SERVER/TOOL', 'mcps/SERVER__TOOL'],
  },
  {
    ...usual,
    name: 'windsurf',
    title: 'Windsurf',
    path: (machine) => fileBelow(machine, '.codeium', 'windsurf', 'mcp_config.json'),
    members: {
      ...program,
      url: url('detected'),
      serverUrl: url('detected'),
      headers,
      disabledTools: tools('deny'),
      alwaysAllow: ignored,
    },
    variables: editorForms('file:[^}]+'),
  },
  {
    ...usual,
    name: 'zed',
    title: 'Zed',
    path: zedFile,
    key: 'context_servers',
    members: {
      ...program,
      source: { kind: 'type', types: { custom: 'stdio' } },
      url: url('http'),
      headers,
    },
  },
  {
    ...usual,
    name: 'gemini',
    title: 'Gemini CLI',
    path: (machine) => fileBelow(machine, '.gemini', 'settings.json'),
    members: {
      ...program,
      type,
      cwd,
      url: url('sse'),
      httpUrl: url('http'),
      headers,
      timeout: time('timeout', 1),
      includeTools: tools('allow'),
      excludeTools: tools('deny'),
      trust: ignored,
      description: ignored,
    },
    variables: { form: shell, isBare: true },
    lists: { allowed: ['mcp', 'allowed'], excluded: ['mcp', 'excluded'] },
  },
  {
    ...usual,
    name: 'codex',
    title: 'Codex',
    path: (machine) => fileBelow(machine, setOr(machine, 'CODEX_HOME', '.codex'), 'config.toml'),
    format: 'toml',
    key: 'mcp_servers',
    members: {
      ...program,
      env_vars: { kind: 'names', to: 'inheritEnv' },
      cwd,
      url: url('http'),
      bearer_token_env_var: { kind: 'bearer' },
      http_headers: headers,
      env_http_headers: { kind: 'env-headers' },
      startup_timeout_sec: time('startTimeout', 1000),
      startup_timeout_ms: time('startTimeout', 1),
      tool_timeout_sec: time('timeout', 1000),
      enabled_tools: tools('allow'),
      disabled_tools: tools('deny'),
    },
    variables: 'none',
    // The client's own limit of 10 s is shorter than the first start of a server that is being installed.
    entry: { startup_timeout_sec: 60 },
  },
  {
    ...usual,
    name: 'cline',
    title: 'Cline',
    path: clineFile,
    members: {
      ...program,
      type: { kind: 'type', types: { stdio: 'stdio', sse: 'sse', streamableHttp: 'http' } },
      cwd,
      url: url('sse'),
      headers,
      timeout: time('timeout', 1000),
      alwaysAllow: ignored,
      autoApprove: ignored,
    },
  },
  {
    ...usual,
    name: 'continue',
    title: 'Continue',
    path: (machine) => fileBelow(machine, '.continue', 'config.yaml'),
    format: 'yaml',
    members: {
      ...program,
      type,
      cwd,
      url: url(undefined),
      requestOptions: { kind: 'nested', members: { headers } },
    },
  },
  {
    ...usual,
    name: 'copilot',
    title: 'Copilot CLI',
    path: (machine) => fileBelow(machine, '.copilot', 'mcp-config.json'),
    members: {
      ...program,
      type: { kind: 'type', types: { local: 'stdio', stdio: 'stdio', http: 'http', sse: 'sse' } },
      cwd,
      url: url(undefined),
      headers,
      tools: tools('allow'),
      timeout: time('timeout', 1),
    },
    variables: { form: shell },
    entry: { type: 'local', tools: ['*'] },
  },
]

export const clientNames: readonly string[] = clients.map(({ name }) => name)

/** A path below the home folder, or an absolute path if the first part is absolute. */
function fileBelow({ platform, home }: UserMachine, ...parts: readonly string[]): string {
  const paths = platform === 'win32' ? win32 : posix
  const [first = ''] = parts
  return paths.isAbsolute(first) ? paths.join(...parts) : paths.join(home, ...parts)
}

function setOr({ env }: UserMachine, variable: string, usual: string): string {
  const value = env[variable]
  return value === undefined || value === '' ? usual : value
}

/** A file in the system's folder for the settings of applications. */
function applicationFile(machine: UserMachine, ...parts: readonly string[]): string {
  const { platform } = machine
  if (platform === 'darwin') return fileBelow(machine, 'Library', 'Application Support', ...parts)
  if (platform === 'win32')
    return fileBelow(machine, setOr(machine, 'APPDATA', win32.join('AppData', 'Roaming')), ...parts)
  return fileBelow(machine, setOr(machine, 'XDG_CONFIG_HOME', '.config'), ...parts)
}

function zedFile(machine: UserMachine): string {
  if (machine.platform === 'win32') return applicationFile(machine, 'Zed', 'settings.json')
  const folder = machine.platform === 'darwin' ? '.config' : setOr(machine, 'XDG_CONFIG_HOME', '.config')
  return fileBelow(machine, folder, 'zed', 'settings.json')
}

function clineFile(machine: UserMachine): string {
  const extension = ['globalStorage', 'saoudrizwan.claude-dev', 'settings', 'cline_mcp_settings.json']
  return applicationFile(machine, 'Code', 'User', ...extension)
}
