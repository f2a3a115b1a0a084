// The clients whose servers `import` takes over: where their files are, and what these files look like.
//
// docs/clients.md names the documentation that each row comes from. A member that no row names is not understood, and its
// server stays where it is.

import { posix, win32 } from 'node:path'
import type { Environment } from '../../config/configuration.js'
import { type Dialect, dialects } from './dialects.js'
import type { ClientName } from './names.js'

/** The machine, as far as paths depend on it. */
export interface UserMachine {
  readonly platform: NodeJS.Platform
  readonly home: string
  readonly env: Environment
}

export interface Client {
  readonly name: ClientName
  readonly title: string
  readonly format: 'json' | 'toml' | 'yaml'
  /** The member of the file that has the servers. */
  readonly key: string
  readonly dialect: Dialect
  /** The members of an entry beside its command and its arguments. */
  readonly entry: Readonly<Record<string, unknown>>
  /** The members of the file that name the servers that may start, and those that may not. */
  readonly lists?: { readonly allowed: readonly string[]; readonly excluded: readonly string[] }
  /** Whether it starts without the PATH of a shell on macOS. */
  readonly lacksPath: boolean
  /** The file with its servers, absolute. */
  readonly path: (machine: UserMachine) => string
}

export const clients: readonly Client[] = [
  row('claude', 'Claude Desktop', (m) => applicationFile(m, 'Claude', 'claude_desktop_config.json'), {
    lacksPath: true,
  }),
  row('claude-code', 'Claude Code', (m) => fileBelow(m, setOr(m, 'CLAUDE_CONFIG_DIR', ''), '.claude.json'), {
    entry: { type: 'stdio' },
  }),
  row('cursor', 'Cursor', (m) => fileBelow(m, '.cursor', 'mcp.json')),
  row('vscode', 'VS Code', (m) => applicationFile(m, 'Code', 'User', 'mcp.json'), {
    key: 'servers',
    entry: { type: 'stdio' },
  }),
  row('windsurf', 'Windsurf', (m) => fileBelow(m, '.codeium', 'windsurf', 'mcp_config.json')),
  row('zed', 'Zed', zedFile, { key: 'context_servers' }),
  row('gemini', 'Gemini CLI', (m) => fileBelow(m, '.gemini', 'settings.json'), {
    lists: { allowed: ['mcp', 'allowed'], excluded: ['mcp', 'excluded'] },
  }),
  row('codex', 'Codex', (m) => fileBelow(m, setOr(m, 'CODEX_HOME', '.codex'), 'config.toml'), {
    format: 'toml',
    key: 'mcp_servers',
    // Its own limit of 10 s is shorter than the first start of servers that are installed.
    entry: { startup_timeout_sec: 60 },
  }),
  row('cline', 'Cline', clineFile),
  row('continue', 'Continue', (m) => fileBelow(m, '.continue', 'config.yaml'), { format: 'yaml' }),
  row('copilot', 'Copilot CLI', (m) => fileBelow(m, '.copilot', 'mcp-config.json'), {
    entry: { type: 'local', tools: ['*'] },
  }),
]

function row(
  name: ClientName,
  title: string,
  path: Client['path'],
  more: Partial<Omit<Client, 'name' | 'title' | 'path' | 'dialect'>> = {},
): Client {
  const usual = { format: 'json', key: 'mcpServers', entry: {}, lacksPath: false } as const
  return { ...usual, ...more, name, title, path, dialect: dialects[name] }
}

/** A path below the home folder, or absolute where its first part is. */
export function fileBelow({ platform, home }: UserMachine, ...parts: readonly string[]): string {
  const paths = platform === 'win32' ? win32 : posix
  const [first = ''] = parts
  return paths.isAbsolute(first) ? paths.join(...parts) : paths.join(home, ...parts)
}

export function setOr({ env }: UserMachine, variable: string, usual: string): string {
  const value = env[variable]
  return value === undefined || value === '' ? usual : value
}

/** A file in the folder in which the system keeps the settings of applications. */
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
