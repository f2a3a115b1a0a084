// The text of `--help`.

import { options, spelled } from './options.js'
import type { Option } from './options.js'

/** The help for a program of that name. */
export function helpText(program: string): string {
  return `${program}: many MCP servers as one

Usage
  ${program} [--http] [--port N] [--host HOST] [--config FILE]
  ${program} --stdio [--schema=NAME] [--config FILE]
  ${program} stdio --mcp-config FILE       the same as --stdio --config FILE; likewise http
  ${program} --check [FILE] [--start]
  ${program} --url URL [--header 'NAME: VALUE'...]
  ${program} sandbox [--http | --stdio] [--port N] [--runtime NAME] [--check]
  ${program} replay FILE.jsonl... [--http] [-- COMMAND]
  ${program} replay FILE.jsonl... --url URL [--header 'NAME: VALUE'...]

Modes
  --stdio   Serves one schema to one client: one JSON-RPC message per line on stdin and stdout.
            Logs and everything else go to stderr. Only the servers of that schema are started.
  replay    Replays transcripts against a server and compares its answers, frame by frame: against
            the proxy itself, started for it (replay --http starts it with --http); against COMMAND;
            or against the MCP server at URL, over Streamable HTTP or the older HTTP+SSE.
  --http    Serves every enabled schema to many clients; also what no mode at all means.
            POST /mcp is the schema "default", POST /api/NAME/mcp any other; GET / names all paths.
            Listens on this machine only. Any other --host needs a token (server.token in the
            configuration, or $MCPS_PROXY_TOKEN) or --allow-unauthenticated.
  --url     Serves one remote server on stdin and stdout, under its own names. For a service behind
            Google's IAM every request carries an ID token from Application Default Credentials.

  sandbox   Serves tools that run code and commands in sandboxes: over HTTP, port 8775, or --stdio.
            --check says which runtimes can be used here, and what would mend the others.

Schemas
  A schema is a named group of servers in the configuration. Without --schema it is "default",
  which is also what a plain "mcpServers" file becomes.

Options
${options.map(optionLine).join('\n')}

Configuration
  --config FILE, else the file that $MCPS_PROXY_CONFIG names, else ~/.mcps-proxy/config.json,
  else a built-in one with the bundled Time server.
  The file is watched, and SIGHUP reads it at once: what changes in it is used without a restart.

Examples
  ${program} --stdio
  ${program} --stdio --schema=workspace
  ${program} --stdio --schema workspace --config ./mcp.json --record session.jsonl
  ${program} --http --port 8080
  curl -s http://127.0.0.1:3095/mcp -H 'Content-Type: application/json' \\
    -d '{"jsonrpc":"2.0","id":1,"method":"tools/list"}'
  echo '{"jsonrpc":"2.0","id":1,"method":"tools/list"}' | ${program} --stdio --silent
  ${program} --check ./mcp.json
  ${program} replay session.jsonl --url http://127.0.0.1:3095/mcp --header 'X-Key: …'

  In the configuration of a client:
  { "mcpServers": { "all": { "command": "${program}", "args": ["--stdio"] } } }

Exit codes
  0 clean   1 run-time failure   2 usage or configuration   70 internal error   128+n second signal
`
}

/** A longer option stands on a line of its own. */
const optionWidth = 26

function optionLine(option: Option): string {
  const short = option.aliases.find(({ length }) => length === 1)
  const long = `${spelled(option.name)}${option.value === '' ? '' : ` ${option.value}`}`
  const left = (short === undefined ? '    ' : `${spelled(short)}, `) + long
  const gap =
    left.length > optionWidth ? `\n  ${' '.repeat(optionWidth)}` : ' '.repeat(optionWidth - left.length)
  return `  ${left}${gap} ${option.about}`
}
