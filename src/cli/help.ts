// The text of `--help`: of the program, and of one command.

import { type Command, type Option, spelled } from './command-line.js'
import { loadCommand, loadCommands } from './commands.js'
import { version } from '../version.js'

export const versionText: string = `${version}\n`

/** The help for a program of that name; of one command where it is named. */
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
  The file is watched, and SIGHUP reads it at once: what changes in it is used without a restart.

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
