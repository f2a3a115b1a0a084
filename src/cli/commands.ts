// Every command. Serving commands are always loaded, because clients wait; others load when they are named.

import { nearest } from '../text/nearest.js'
import { type Command, asksFor, olderSpellings, wrongWord } from './command-line.js'
import { connectCommand, httpCommand, stdioCommand } from './serve-commands.js'

/** In the order of the help. */
const loaders: Readonly<Record<string, () => Promise<Command>>> = {
  stdio: async () => stdioCommand,
  http: async () => httpCommand,
  connect: async () => connectCommand,
  sandbox: async () => (await import('./run-sandbox.js')).sandboxCommand,
  import: async () => (await import('./import.js')).importCommand,
  add: async () => (await import('./edit-commands.js')).editCommands.add,
  remove: async () => (await import('./edit-commands.js')).editCommands.remove,
  enable: async () => (await import('./edit-commands.js')).editCommands.enable,
  disable: async () => (await import('./edit-commands.js')).editCommands.disable,
  login: async () => (await import('./login.js')).loginCommands.login,
  logins: async () => (await import('./login.js')).loginCommands.logins,
  logout: async () => (await import('./login.js')).loginCommands.logout,
  secret: async () => (await import('./secret.js')).secretCommand,
  token: async () => (await import('./token.js')).tokenCommand,
  check: async () => (await import('./check.js')).checkCommand,
  doctor: async () => (await import('./doctor.js')).doctorCommands.doctor,
  lock: async () => (await import('./lock.js')).lockCommand,
  list: async () => (await import('./doctor.js')).doctorCommands.list,
  tools: async () => (await import('./call-commands.js')).askCommands.tools,
  call: async () => (await import('./call-commands.js')).askCommands.call,
  status: async () => (await import('./status.js')).statusCommand,
  replay: async () => (await import('../replay/command.js')).replayCommand,
  completion: async () => (await import('./help.js')).completionCommand,
}

export function loadCommands(): Promise<Command[]> {
  return Promise.all(Object.values(loaders).map((load) => load()))
}

/** @throws UsageError for an unknown name */
export async function loadCommand(name: string): Promise<Command> {
  const load = Object.hasOwn(loaders, name) ? loaders[name] : undefined
  if (load !== undefined) return load()
  const [near] = nearest(name, Object.keys(loaders))
  const hint = near === undefined ? 'mcps-proxy help names them all' : `did you mean ${near}?`
  throw wrongWord('unknown command', name, hint)
}

export type Asked =
  | { readonly kind: 'help'; readonly about: string | undefined }
  | { readonly kind: 'version' }
  /** Without a name, the gateway starts. */
  | { readonly kind: 'task'; readonly command: Command; readonly given: unknown; readonly isNamed: boolean }

/** @throws UsageError */
export async function readArguments(argv: readonly string[]): Promise<Asked> {
  const [first, about] = argv
  if (first === 'help') {
    if (about !== undefined) await loadCommand(about)
    return { kind: 'help', about }
  }
  const { name, own, isNamed } = commandIn(argv)
  if (asksFor(own, '--help', '-h')) return { kind: 'help', about: isNamed ? name : undefined }
  if (asksFor(own, '--version', '-V')) return { kind: 'version' }
  const command = await loadCommand(name)
  return { kind: 'task', command, given: command.read(own), isNamed }
}

function commandIn(argv: readonly string[]): {
  readonly name: string
  readonly own: readonly string[]
  readonly isNamed: boolean
} {
  const [first = '', ...behind] = argv
  const isOption = first === '' || first.startsWith('-')
  // `mcps-proxy stdio --url URL` also connects.
  if (!isOption && first !== 'stdio') return { name: first, own: behind, isNamed: true }
  const all = isOption ? argv : ['--stdio', ...behind]
  const end = all.includes('--') ? all.indexOf('--') : all.length
  const [options, rest] = [all.slice(0, end), all.slice(end)]
  for (const [option, name] of olderSpellings) {
    const at = options.findIndex((word) => word === option || word.startsWith(`${option}=`))
    if (at < 0) continue
    const written = options[at] ?? ''
    const value = written === option ? [] : [written.slice(option.length + 1)]
    const others = [...options.slice(0, at), ...value, ...options.slice(at + 1)]
    // `check` keeps the mode that it checks.
    const own = name === 'check' ? others : others.filter((word) => word !== '--stdio')
    return { name, own: [...own, ...rest], isNamed: true }
  }
  return { name: 'http', own: argv, isNamed: false }
}
