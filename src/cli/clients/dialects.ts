// The meaning of each member of a server in the file of each client.

import type { ClientName } from './names.js'

/** The use of a member of a client's entry. */
export type MemberUse =
  /** It means the same in our file, under this name. */
  | { readonly kind: 'text' | 'texts' | 'map' | 'path'; readonly to: string }
  /** Names of variables that the program gets. */
  | { readonly kind: 'names'; readonly to: string }
  /** Of the transport, by what the client calls it. */
  | { readonly kind: 'type'; readonly types: Readonly<Record<string, Transport>> }
  | { readonly kind: 'url'; readonly transport: Transport | 'detected' | undefined }
  | { readonly kind: 'flag'; readonly disabledIf: boolean }
  /** A time, of which one is so many milliseconds. */
  | { readonly kind: 'time'; readonly to: string; readonly unitMs: number }
  /** Tools that are shown, or hidden. */
  | { readonly kind: 'tools'; readonly to: 'allow' | 'deny' }
  /** The variable with the token of a header `Authorization`, and headers whose values are names of variables. */
  | { readonly kind: 'bearer' | 'env-headers' }
  /** The login of a remote server, which has the same members in our file. */
  | { readonly kind: 'login' }
  /** It tells the client something, and stays with the client's entry. */
  | { readonly kind: 'client' }
  /** It is about the client's own process of the server, and left out. */
  | { readonly kind: 'ignored' }
  /** Members of a member. */
  | { readonly kind: 'nested'; readonly members: Readonly<Record<string, MemberUse>> }

export type Transport = 'stdio' | 'http' | 'sse'

export interface Dialect {
  readonly members: Readonly<Record<string, MemberUse>>
  /**
   * How a text names a variable: not at all; `${NAME}` and `${NAME:-x}`; also `$NAME`; `${env:NAME}` and the forms that
   * stand here. Undefined where that is not documented.
   */
  readonly variables: 'none' | 'shell' | 'dollar' | readonly string[] | undefined
}

const text = (to: string): MemberUse => ({ kind: 'text', to })
const map = (to: string): MemberUse => ({ kind: 'map', to })
const path = (to: string): MemberUse => ({ kind: 'path', to })
const time = (to: string, unitMs: number): MemberUse => ({ kind: 'time', to, unitMs })
const tools = (to: 'allow' | 'deny'): MemberUse => ({ kind: 'tools', to })
const client: MemberUse = { kind: 'client' }
const disabled: MemberUse = { kind: 'flag', disabledIf: true }
const enabled: MemberUse = { kind: 'flag', disabledIf: false }

const url = (transport: Transport | 'detected' | undefined): MemberUse => ({ kind: 'url', transport })

/** People write both switches by hand, also where the documentation of a client has one of them or none. */
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

export const dialects: Readonly<Record<ClientName, Dialect>> = {
  claude: { variables: 'none', members: { ...program, type: { kind: 'type', types: { stdio: 'stdio' } } } },
  'claude-code': {
    variables: 'shell',
    members: { ...program, type, url: url(undefined), headers, oauth },
  },
  cursor: {
    variables: ['userHome', 'pathSeparator', '/'],
    members: { ...program, type, url: url('detected'), headers, envFile: path('envFile') },
  },
  vscode: {
    variables: ['userHome', 'pathSeparator', '/', 'input:'],
    members: {
      ...program,
      type,
      url: url('http'),
      headers,
      oauth,
      envFile: path('envFile'),
      cwd: path('cwd'),
      // Restarts and debugs the process that VS Code starts, which is the proxy afterwards.
      dev: { kind: 'ignored' },
      gallery: client,
      version: client,
    },
  },
  windsurf: {
    variables: ['file:'],
    members: {
      ...program,
      url: url('detected'),
      serverUrl: url('detected'),
      headers,
      disabledTools: tools('deny'),
      alwaysAllow: client,
    },
  },
  zed: {
    variables: undefined,
    members: {
      ...program,
      source: { kind: 'type', types: { custom: 'stdio' } },
      url: url('http'),
      headers,
    },
  },
  gemini: {
    variables: 'dollar',
    members: {
      ...program,
      type,
      cwd: path('cwd'),
      url: url('sse'),
      httpUrl: url('http'),
      headers,
      timeout: time('timeout', 1),
      includeTools: tools('allow'),
      excludeTools: tools('deny'),
      trust: client,
      description: client,
    },
  },
  codex: {
    variables: 'none',
    members: {
      ...program,
      env_vars: { kind: 'names', to: 'inheritEnv' },
      cwd: path('cwd'),
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
  },
  cline: {
    variables: undefined,
    members: {
      ...program,
      type: { kind: 'type', types: { stdio: 'stdio', sse: 'sse', streamableHttp: 'http' } },
      cwd: path('cwd'),
      url: url('sse'),
      headers,
      timeout: time('timeout', 1000),
      alwaysAllow: client,
      autoApprove: client,
    },
  },
  continue: {
    variables: undefined,
    members: {
      ...program,
      type,
      cwd: path('cwd'),
      url: url(undefined),
      requestOptions: { kind: 'nested', members: { headers } },
    },
  },
  copilot: {
    variables: 'shell',
    members: {
      ...program,
      type: { kind: 'type', types: { local: 'stdio', stdio: 'stdio', http: 'http', sse: 'sse' } },
      cwd: path('cwd'),
      url: url(undefined),
      headers,
      tools: tools('allow'),
      timeout: time('timeout', 1),
    },
  },
}
