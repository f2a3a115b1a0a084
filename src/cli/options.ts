// Every option of the command line: one table for the parser, the suggestions and the help.

/** Every command; `commands.ts` explains them, and no start needs that. */
export const commandNames = [
  'stdio',
  'http',
  'connect',
  'sandbox',
  'import',
  'add',
  'remove',
  'enable',
  'disable',
  'login',
  'logins',
  'logout',
  'secret',
  'token',
  'check',
  'doctor',
  'lock',
  'list',
  'tools',
  'call',
  'read',
  'prompt',
  'status',
  'replay',
] as const

export type CommandName = (typeof commandNames)[number]

export function commandNameOf(word: string | undefined): CommandName | undefined {
  return commandNames.find((name) => name === word)
}

/** The options that some commands stand for. */
export const optionsOfCommands: ReadonlyMap<string, string> = new Map([
  ['check', '--check'],
  ['connect', '--url'],
])

export interface Option {
  readonly name: string
  /** Other spellings; one letter means a single dash. */
  readonly aliases: readonly string[]
  /** A switch takes nothing; an optional value may be left out; a list may be given more than once. */
  readonly kind: 'switch' | 'value' | 'optional-value' | 'list'
  /** The commands that take it. */
  readonly commands: readonly CommandName[]
  /** The name of its value in the help. */
  readonly value: string
  readonly about: string
  /** What it does with commands where that is something else. */
  readonly abouts: Readonly<Partial<Record<CommandName, string>>>
}

type More = Partial<Pick<Option, 'aliases' | 'kind' | 'abouts'>>

const serving = ['stdio', 'http', 'connect', 'sandbox'] as const
const requests = ['tools', 'call', 'read', 'prompt'] as const
export const asks = ['doctor', 'list', 'tools', 'call', 'read', 'prompt'] as const
export const edits = ['add', 'remove', 'enable', 'disable'] as const

function option(name: string, about: string, commands: Option['commands'], more: More = {}): Option {
  return { name, about, commands, aliases: [], abouts: {}, kind: 'switch', value: '', ...more }
}

function valued(
  name: string,
  value: string,
  about: string,
  commands: Option['commands'],
  more: More = {},
): Option {
  return { ...option(name, about, commands, { kind: 'value', ...more }), value }
}

export const options: readonly Option[] = [
  option('stdio', 'Serve one schema on stdin and stdout', ['stdio', 'connect', 'check', 'sandbox']),
  valued('schema', 'NAME', 'The group of servers that is meant (default: "default")', [
    'stdio',
    'check',
    ...asks,
    ...edits,
    'login',
    'logout',
    'lock',
  ]),
  valued('server', 'NAME', 'Serve this one server, under its own names', ['stdio']),
  valued('profile', 'NAME', 'What this profile shows', ['stdio', ...asks, 'token'], {
    kind: 'list',
    abouts: { token: 'With create: the profile that it reaches; may be given again' },
  }),
  valued(
    'config',
    'FILE',
    'The configuration file; --mcp-config is the same',
    [
      'stdio',
      'http',
      'check',
      'sandbox',
      ...asks,
      ...edits,
      'token',
      'status',
      'import',
      'login',
      'logout',
      'lock',
    ],
    { aliases: ['c', 'mcp-config'] },
  ),
  valued('check', '[FILE]', 'Check a configuration; exit 0 or 1', ['check', 'sandbox', 'lock'], {
    kind: 'optional-value',
    abouts: {
      sandbox: 'Say which runtimes can be used here; exit 0 or 1',
      lock: 'Compare and write nothing; exit 0 or 1',
    },
  }),
  valued('accept', 'SERVER[/TOOL]', 'What it lists now is right; may be given again', ['lock'], {
    kind: 'list',
  }),
  option('yes', 'Write the changes without a question', ['import'], { aliases: ['y'] }),
  option('dry-run', 'Print the changes and write nothing', ['import']),
  option('undo', 'Take back the last import', ['import']),
  option('secrets', 'Keep what looks like a secret in the store of secrets', ['import', 'add']),
  option('doors', 'Keep one entry for each server, under its own name', ['import']),
  option('profiles', 'Write a profile for each client, which shows it its own servers', ['import']),
  option('start', 'With --check, start every server and say what came of it', ['check']),
  valued('record', 'FILE.jsonl', 'Write every frame on every hop to a file while running', serving),
  option('force', 'Let --record replace a file that exists', [...serving, 'add', 'logout'], {
    abouts: {
      add: 'Replace a server of that name',
      logout: 'Remove the login here though it was not revoked',
    },
  }),
  valued(
    'ui',
    '[PORT]',
    'Serve a page that shows every message; on stdio with its port',
    ['stdio', 'http', 'connect'],
    { kind: 'optional-value' },
  ),
  valued('env', 'NAME=VALUE', 'A variable of the server; may be given again', ['add'], {
    kind: 'list',
  }),
  valued('expires', 'WHEN', 'With create: 12h, 30d, 8w or a date', ['token']),
  valued('timeout', 'MS', 'Longest time for a call in milliseconds, for every server', [
    ...serving,
    'replay',
    ...requests,
    'status',
  ]),
  option('json', 'Print JSON', [...asks, 'status', 'logins', 'lock']),
  valued('scope', "'SCOPES'", 'Scopes to ask for beside those that the server wants', ['login']),
  valued('user', 'NAME', 'The user of the HTTP front whose login it is, with "auth.perUser"', [
    'login',
    'logins',
    'logout',
  ]),
  option('no-browser', 'Open no browser, read the address that it was sent to', ['login']),
  option('device', 'Show a code, which you enter on another device', ['login']),
  option('verbose', 'Log everything, as --log-level debug does', [...serving, 'replay']),
  valued('log-level', 'LEVEL', 'error, warn, info or debug', serving, { aliases: ['l'] }),
  option('silent', 'No banner, and nothing but errors on stderr', serving, { aliases: ['s'] }),
  option('no-kept-lists', 'Keep nothing on disk of what servers list, and use nothing of it', serving),
  option('no-metrics', 'Serve and send no metrics and traces, whatever the configuration says', serving),
  option('help', 'Show this help', commandNames, { aliases: ['h'] }),
  option('version', 'Show the version', commandNames, { aliases: ['V'] }),
  option('portable', 'Replay the transcripts of the package: every correct server passes', ['replay']),
  option('trust', 'Start what the transcripts name without a question', ['replay']),
  option('update', 'Write the messages that came over those that differ in the transcripts', ['replay']),
  valued('junit', 'FILE', 'Write the results of a replay as JUnit XML', ['replay']),
  valued('url', 'URL', 'Serve this remote server on stdin and stdout', ['connect', 'replay'], {
    abouts: { replay: 'The address of the server that is tested' },
  }),
  valued(
    'header',
    "'NAME: VALUE'",
    'Header field of every request to the --url; may be given again',
    ['connect', 'replay', 'add', 'status'],
    {
      kind: 'list',
      aliases: ['H'],
      abouts: {
        add: 'Header field of every request; may be given again',
        status: 'Header field of the request; may be given again',
      },
    },
  ),
  valued('auth', 'HOW', 'auto, google (send ID tokens) or none; only with --url', ['connect']),
  valued('client-info', 'JSON|@FILE', 'The client for the login: {"client_id": …, "client_secret": …}', [
    'connect',
    'login',
  ]),
  valued('client-metadata-url', 'URL', 'A client ID metadata document, for the login', ['connect', 'login']),
  valued('audience', 'URL', 'Audience of the ID tokens (default: the origin of the url)', ['connect']),
  valued('impersonate-service-account', 'EMAIL', 'Get the ID tokens as this service account', ['connect']),
  option('http', 'Serve every enabled schema on HTTP; what no mode at all means', [
    'http',
    'check',
    'replay',
    'sandbox',
  ]),
  valued('port', 'N', 'TCP port (default: 3095, of sandbox 8775); 0 takes a free one', ['http', 'sandbox'], {
    aliases: ['p'],
  }),
  valued('host', 'HOST', 'Address to listen on (default: 127.0.0.1)', ['http', 'check', 'sandbox']),
  option('allow-unauthenticated', 'Listen beyond this machine without a token', ['http', 'check', 'sandbox']),
  option('enable-cors', 'Answer requests of web pages; only with sandbox', ['sandbox']),
  valued('runtime', 'NAME', 'What runs the code (default: auto); only with sandbox', ['sandbox']),
]

/** How a person types it. */
export function spelled(name: string): string {
  return name.length === 1 ? `-${name}` : `--${name}`
}

/** Every spelling of an option, with its dashes. */
export function spellingsOf(option: Option): string[] {
  return [option.name, ...option.aliases].map(spelled)
}
