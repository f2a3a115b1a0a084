// Every command with the file that has its table. `stdio`, whose clients wait, is always loaded, and any other when it is named.

import { type Command, UsageError, asksFor } from './command-line.js'
import { type CommandName, commandHint, commandIn, commandNameOf, commandNames } from './command-names.js'
import { connectCommand, stdioCommand } from './run-stdio.js'

const loaders: Readonly<Record<CommandName, () => Promise<Command>>> = {
  stdio: async () => stdioCommand,
  connect: async () => connectCommand,
  http: async () => (await import('./run-http.js')).httpCommand,
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
  list: async () => (await import('./doctor.js')).doctorCommands.list,
  lock: async () => (await import('./lock.js')).lockCommand,
  tools: async () => (await import('./call-commands.js')).askCommands.tools,
  call: async () => (await import('./call-commands.js')).askCommands.call,
  read: async () => (await import('./call-commands.js')).askCommands.read,
  prompt: async () => (await import('./call-commands.js')).askCommands.prompt,
  status: async () => (await import('./status.js')).statusCommand,
  replay: async () => (await import('../replay/command.js')).replayCommand,
  completion: async () => (await import('./completion.js')).completionCommand,
}

export function loadCommand(name: CommandName): Promise<Command> {
  return loaders[name]()
}

/** In the order of the help. */
export function loadCommands(): Promise<Command[]> {
  return Promise.all(commandNames.map(loadCommand))
}

/** The request of a command line. */
export type Asked =
  | { readonly kind: 'help'; readonly about: CommandName | undefined }
  | { readonly kind: 'version' }
  | { readonly kind: 'task'; readonly command: Command; readonly task: unknown }

/** @throws UsageError */
export async function readArguments(argv: readonly string[]): Promise<Asked> {
  const [first = '', about] = argv
  if (first === 'help') return { kind: 'help', about: about === undefined ? about : nameOf(about) }
  const named = commandIn(argv)
  const { name, isNamed } = named ?? { name: nameOf(first), isNamed: true }
  const own = named?.argv ?? []
  if (asksFor(own, '--help', '-h')) return { kind: 'help', about: isNamed ? name : undefined }
  if (asksFor(own, '--version', '-V')) return { kind: 'version' }
  const command = await loadCommand(name)
  return { kind: 'task', command, task: command.read(own) }
}

/** @throws UsageError */
function nameOf(word: string): CommandName {
  const name = commandNameOf(word)
  if (name !== undefined) return name
  // An address may hold a password or a key.
  if (word.includes('://'))
    throw new UsageError('an address is no command', 'mcps-proxy connect URL serves a remote server')
  if (/\.jsonc?$/.test(word))
    throw new UsageError(
      `no command is called "${word}"`,
      `a configuration file is named by --config ${word}`,
    )
  throw new UsageError(`no command is called "${word}"`, commandHint(word))
}
