// The text of `--help`, for the program and for one command, and shell completion, from the tables of the commands.

import { type Command, type Option, command, spelled } from './command-line.js'
import { loadCommand, loadCommands } from './commands.js'
import { say } from './console.js'
import { inShell } from '../text/escape.js'
import { version } from '../version.js'

export const versionText: string = `${version}\n`

/** The help for a program of that name, or for one command. */
export async function helpText(program: string, about?: string): Promise<string> {
  const text = about === undefined ? generalHelp(await loadCommands()) : commandHelp(await loadCommand(about))
  return text.replaceAll('mcps-proxy ', `${program} `)
}

const groups = ['SERVE', 'SET UP', 'LOOK', 'TEST'] as const

const nameWidth = 34

function generalHelp(commands: readonly Command[]): string {
  const shown = groups.map((group) => {
    const lines = commands.filter((each) => each.group === group).map(commandLine)
    return `${group}\n${lines.join('\n')}\n`
  })
  return `mcps-proxy - many MCP servers as one

${shown.join('\n')}
mcps-proxy help COMMAND (or COMMAND --help) shows its options and examples.
Without a command the HTTP gateway starts.

Configuration
  --config FILE, else the file that $MCPS_PROXY_CONFIG names, else ~/.mcps-proxy/config.json,
  else a built-in one with the bundled Time server.
  The file is watched, and SIGHUP reads it immediately: changes need no restart.

  In the configuration of a client:
  { "mcpServers": { "mcps": { "command": "mcps-proxy", "args": ["stdio"] } } }

Exit codes
  0 clean   1 run-time failure   2 usage or configuration   70 internal error   128+n signal

Older spellings keep working: --stdio, --http, --check [FILE], --url URL, --mcp-config FILE.
mcps-proxy --stdio --schema=workspace serves the group of servers that is called "workspace".
`
}

function commandLine({ name, takes, about }: Command): string {
  return `  ${`${name} ${takes}`.trimEnd().padEnd(nameWidth)}${about}`
}

function commandHelp({ name, takes, about, details, examples, options }: Command): string {
  const lines = Object.entries(options).map(([option, each]) => optionLine(option, each))
  return `mcps-proxy ${`${name} ${takes}`.trimEnd()} - ${about}

${details}
${lines.length === 0 ? '' : `\nOptions\n${lines.join('\n')}\n`}
Examples
${examples.map((example) => `  ${example}`).join('\n')}
`
}

const optionWidth = 26

function optionLine(name: string, { aliases, value, about }: Option<unknown>): string {
  const short = aliases.find(({ length }) => length === 1)
  const long = `${spelled(name)}${value === '' ? '' : ` ${value}`}`
  const left = (short === undefined ? '    ' : `${spelled(short)}, `) + long
  const gap =
    left.length > optionWidth ? `\n  ${' '.repeat(optionWidth)}` : ' '.repeat(optionWidth - left.length)
  return `  ${left}${gap} ${about}`
}

export const completionCommand = command({
  name: 'completion',
  takes: 'bash|zsh|fish',
  about: 'prints what completes commands and options in a shell',
  group: 'SET UP',
  details: 'Prints a script for the start file of the shell, which completes commands and options.',
  examples: ['source <(mcps-proxy completion bash)', 'mcps-proxy completion fish | source'],
  options: {},
  first: ['bash', 'zsh', 'fish'],
  wordsMax: 1,
  run: async ({ words: [shell = ''] }) => {
    await say('stdout', scripts[shell]?.(await loadCommands()) ?? '')
    return 0
  },
})

const scripts: Readonly<Record<string, (commands: readonly Command[]) => string>> = {
  bash: bashScript,
  zsh: (commands) => `autoload -U +X bashcompinit && bashcompinit\n${bashScript(commands)}`,
  fish: fishScript,
}

/** The shell completes file names if no word fits. */
function bashScript(commands: readonly Command[]): string {
  const cases = commands.map(
    ({ name, options }) => `    ${name}) words="${Object.keys(options).map(spelled).join(' ')} --help" ;;`,
  )
  return `_mcps_proxy() {
  local words
  case "\${COMP_CWORD}:\${COMP_WORDS[1]}" in
    1:*) words="${commands.map(({ name }) => name).join(' ')} help" ;;
${cases.map((each) => each.replace(/^ {4}/, '    *:')).join('\n')}
  esac
  COMPREPLY=($(compgen -W "\${words}" -- "\${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -F _mcps_proxy mcps-proxy
`
}

function fishScript(commands: readonly Command[]): string {
  const lines = commands.flatMap(({ name, about, options }) => [
    `complete -c mcps-proxy -n __fish_use_subcommand -f -a ${name} -d ${inShell(about)}`,
    ...Object.entries(options).map(([option, { kind, about: text }]) => {
      const takesValue = kind === 'value' || kind === 'list' ? ' -r' : ''
      return `complete -c mcps-proxy -n '__fish_seen_subcommand_from ${name}' -l ${option}${takesValue} -d ${inShell(text)}`
    }),
  ])
  return `${lines.join('\n')}\n`
}
