// Every option of the command line: one table for the parser, the suggestions and the help.

/** The modes of the program. */
export type CommandMode = 'stdio' | 'http' | 'url' | 'replay' | 'check'

export interface Option {
  readonly name: string
  /** Other spellings; one letter means a single dash. */
  readonly aliases: readonly string[]
  /** A switch takes nothing; an optional value may be left out; a list may be given more than once. */
  readonly kind: 'switch' | 'value' | 'optional-value' | 'list'
  readonly modes: readonly CommandMode[]
  /** What the help calls its value. */
  readonly value: string
  /** Empty for what this version recognises only to say that it cannot do it. */
  readonly about: string
}

function option(name: string, about: string, more: Partial<Option> = {}): Option {
  const modes: readonly CommandMode[] = ['stdio', 'http', 'url', 'replay', 'check']
  return { name, about, aliases: [], kind: 'switch', modes, value: '', ...more }
}

function valued(name: string, value: string, about: string, more: Partial<Option> = {}): Option {
  return option(name, about, { kind: 'value', value, ...more })
}

export const options: readonly Option[] = [
  option('stdio', 'Serve one schema on stdin and stdout', { modes: ['stdio', 'check'] }),
  valued('schema', 'NAME', 'The schema to serve (default: "default"); only with --stdio', {
    modes: ['stdio', 'check'],
  }),
  valued('config', 'FILE', 'The configuration file; --mcp-config is the same', {
    aliases: ['c', 'mcp-config'],
    modes: ['stdio', 'http', 'check'],
  }),
  valued('check', '[FILE]', 'Check a configuration, print every problem, exit 0 or 1', {
    kind: 'optional-value',
    modes: ['check'],
  }),
  option('start', 'With --check, start every server and say what came of it', { modes: ['check'] }),
  valued('record', 'FILE.jsonl', 'Write every frame on every hop to a file while running', {
    modes: ['stdio', 'http', 'url'],
  }),
  valued('timeout', 'MS', 'Longest time for a call in milliseconds, for every server', {
    modes: ['stdio', 'http', 'url', 'replay'],
  }),
  option('verbose', 'Log everything, as --log-level debug does', {
    modes: ['stdio', 'http', 'url', 'replay'],
  }),
  valued('log-level', 'LEVEL', 'error, warn, info or debug', {
    aliases: ['l'],
    modes: ['stdio', 'http', 'url'],
  }),
  option('silent', 'No banner, and nothing but errors on stderr', {
    aliases: ['s'],
    modes: ['stdio', 'http', 'url'],
  }),
  option('no-kept-lists', 'Keep nothing on disk of what servers list, and use nothing of it', {
    modes: ['stdio', 'http', 'url'],
  }),
  option('help', 'Show this help', { aliases: ['h'] }),
  option('version', 'Show the version', { aliases: ['V'] }),
  valued('url', 'URL', 'Serve this remote server on stdin and stdout; replay: its address', {
    modes: ['url', 'replay'],
  }),
  valued('header', "'NAME: VALUE'", 'Header field of every request; may be given again', {
    kind: 'list',
    modes: ['replay'],
  }),
  valued('auth', 'HOW', 'auto, google (send ID tokens) or none; only with --url', {
    modes: ['url'],
  }),
  valued('audience', 'URL', 'Audience of the ID tokens (default: the origin of the url)', {
    modes: ['url'],
  }),
  valued('impersonate-service-account', 'EMAIL', 'Get the ID tokens as this service account', {
    modes: ['url'],
  }),
  option('http', 'Serve every enabled schema on HTTP; what no mode at all means', {
    modes: ['http', 'check', 'replay'],
  }),
  valued('port', 'N', 'TCP port (default: 3095); 0 takes a free one', { aliases: ['p'], modes: ['http'] }),
  valued('host', 'HOST', 'Address to listen on (default: 127.0.0.1)', { modes: ['http', 'check'] }),
  option('allow-unauthenticated', 'Listen beyond this machine without a token', {
    modes: ['http', 'check'],
  }),
]

/** How a person types it. */
export function spelled(name: string): string {
  return name.length === 1 ? `-${name}` : `--${name}`
}

/** Every spelling of an option, with its dashes. */
export function spellingsOf(option: Option): string[] {
  return [option.name, ...option.aliases].map(spelled)
}
