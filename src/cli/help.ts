// What `--help` prints.

import { options, spelled } from './options.js'
import type { Option } from './options.js'

/** The help for a program of that name. */
export function helpText(program: string): string {
  return `${program}: many MCP servers as one

Usage
  ${program} --stdio [--schema=NAME] [--config FILE]
  ${program} stdio --mcp-config FILE       the same as --stdio --config FILE
  ${program} --check [FILE]
  ${program} replay FILE.jsonl... [-- COMMAND | --url URL]

Modes
  --stdio   Serves one schema to one client: one JSON-RPC message per line on stdin and stdout.
            Logs and everything else go to stderr. Only the servers of that schema are started.
  replay    Replays recorded transcripts against a server and compares its answers.
  This version serves stdio only: --http, --port, --host, and --url without replay, are refused.

Schemas
  A schema is a named group of servers in the configuration. Without --schema it is "default",
  which is also what a plain "mcpServers" file becomes.

Options
${options
  .filter(({ about }) => about !== '')
  .map(optionLine)
  .join('\n')}

Configuration
  --config FILE, else the file that $MCPS_PROXY_CONFIG names, else ~/.mcps-proxy/config.json,
  else a built-in one with the bundled Time server.

Examples
  ${program} --stdio
  ${program} --stdio --schema=workspace
  ${program} --stdio --schema workspace --config ./mcp.json --record session.jsonl
  echo '{"jsonrpc":"2.0","id":1,"method":"tools/list"}' | ${program} --stdio --silent
  ${program} --check ./mcp.json

  In the configuration of a client:
  { "mcpServers": { "all": { "command": "${program}", "args": ["--stdio"] } } }

Exit codes
  0 clean   1 run-time failure   2 usage or configuration   70 internal error   128+n second signal
`
}

function optionLine(option: Option): string {
  const short = option.aliases.find(({ length }) => length === 1)
  const long = `${spelled(option.name)}${option.value === '' ? '' : ` ${option.value}`}`
  return `  ${(short === undefined ? '    ' : `${spelled(short)}, `) + long.padEnd(22)} ${option.about}`
}
