// Every command of the program: one table for the help and for what a person may have meant.

import { clientNames } from './clients/names.js'
import type { CommandName } from './options.js'

export interface CommandAbout {
  readonly name: CommandName
  /** The arguments behind the name. */
  readonly takes: string
  readonly about: string
  readonly group: 'SERVE' | 'SET UP' | 'LOOK' | 'TEST'
  /** Help beyond the one line. */
  readonly details: string
  readonly examples: readonly string[]
}

export const commands: readonly CommandAbout[] = [
  {
    name: 'stdio',
    takes: '',
    about: 'one client on stdin and stdout: what a client starts',
    group: 'SERVE',
    details: `Serves one schema to one client: one JSON-RPC message per line on stdin and stdout.
Logs and everything else go to stderr. Only the servers of that schema are started.

A schema is a named group of servers in the configuration. Without --schema it is "default",
which is also what a plain "mcpServers" file becomes.`,
    examples: [
      'mcps-proxy stdio',
      'mcps-proxy stdio --schema workspace --config ./mcp.json --record session.jsonl',
    ],
  },
  {
    name: 'http',
    takes: '',
    about: 'many clients over HTTP, http://127.0.0.1:3095/mcp',
    group: 'SERVE',
    details: `Serves every enabled schema to many clients; also what no command at all means.
POST /mcp is the schema "default", POST /api/NAME/mcp any other; GET / names all paths.
Listens on this machine only. Any other --host needs a token (server.token in the
configuration, or $MCPS_PROXY_TOKEN) or --allow-unauthenticated.`,
    examples: [
      'mcps-proxy http --port 8080',
      `curl -s http://127.0.0.1:3095/mcp -H 'Content-Type: application/json' \\
    -d '{"jsonrpc":"2.0","id":1,"method":"tools/list"}'`,
    ],
  },
  {
    name: 'connect',
    takes: 'URL',
    about: 'one remote server on stdin and stdout',
    group: 'SERVE',
    details: `Serves one remote server on stdin and stdout, under its own names. For a service behind
Google's IAM every request carries an ID token from Application Default Credentials.`,
    examples: ["mcps-proxy connect https://mcp.example.com/mcp -H 'Authorization: Bearer …'"],
  },
  {
    name: 'sandbox',
    takes: '',
    about: 'tools that run code and commands, isolated',
    group: 'SERVE',
    details: `Serves tools that run code and commands in sandboxes: over HTTP, port 8775, or --stdio.
--check says which runtimes can be used here, and what would mend the others.`,
    examples: ['mcps-proxy sandbox --check', 'mcps-proxy sandbox --stdio'],
  },
  {
    name: 'import',
    takes: '[CLIENT]',
    about: 'takes over the servers of Claude, Cursor, VS Code, …',
    group: 'SET UP',
    details: `Moves the servers of ${clientNames.slice(0, 6).join(', ')},
${clientNames.slice(6).join(', ')}, or of the one that is named, into the
configuration file, and leaves one entry in the client's file that starts mcps-proxy.
It prints every command that would be started and every line that changes, and asks once.
A server is moved only where every member of its entry is understood. With --doors each
server keeps an entry of its own, so that the names of tools and the rules of the client
stay as they are. Copies of all files are kept beside them, and --undo brings every byte
back. Without a terminal and without --yes nothing is changed, and the exit code is 2.`,
    examples: ['mcps-proxy import cursor --dry-run', 'mcps-proxy import --yes', 'mcps-proxy import --undo'],
  },
  {
    name: 'add',
    takes: 'NAME -- COMMAND... | URL',
    about: 'adds a server to the configuration file',
    group: 'SET UP',
    details: `Writes the server into the configuration file, which keeps its comments and its order, and prints
the lines that change. A running proxy reads the file again. Nothing is written that a start would
refuse, and a server of that name is replaced only with --force.`,
    examples: [
      'mcps-proxy add files -- npx -y @modelcontextprotocol/server-filesystem /tmp',
      "mcps-proxy add linear https://mcp.linear.app/mcp --header 'Authorization: Bearer ${LINEAR_TOKEN}'",
    ],
  },
  ...(['remove', 'enable', 'disable'] as const).map((name) => ({
    name,
    takes: 'NAME',
    about: {
      remove: 'takes a server out of the configuration file',
      enable: 'lets a server that was disabled start again',
      disable: 'keeps a server in the file, and starts it no more',
    }[name],
    group: 'SET UP' as const,
    details: 'The file keeps its comments and its order; the lines that change are printed.',
    examples: [`mcps-proxy ${name} files`],
  })),
  {
    name: 'login',
    takes: 'NAME | URL',
    about: 'logs in to a remote server, for all clients',
    group: 'SET UP',
    details: `Opens the login of the server's authorization server in a browser, and keeps the tokens below
~/.mcps-proxy/auth, where every client and gateway of this user finds them. They are renewed by
themselves. On a machine without a browser, --no-browser prints the address for another one, and
--device a code, which you enter on any device, where the authorization server has such logins.
With "auth.perUser" of the server, --user names the token of the HTTP front whose login it is, or
ISSUER#SUBJECT of one who logs in there.`,
    examples: ['mcps-proxy login linear', 'mcps-proxy login https://mcp.example.com/mcp --no-browser'],
  },
  {
    name: 'logins',
    takes: '',
    about: 'the logins that there are, and how long they last',
    group: 'SET UP',
    details: 'Prints one line for each login, and no token.',
    examples: ['mcps-proxy logins', 'mcps-proxy logins --json'],
  },
  {
    name: 'logout',
    takes: 'NAME | URL',
    about: 'revokes and removes a login',
    group: 'SET UP',
    details:
      'The tokens are revoked where the authorization server can do that, and removed from this machine.',
    examples: ['mcps-proxy logout linear'],
  },
  {
    name: 'secret',
    takes: 'set|list|remove NAME',
    about: 'secrets, to which the configuration refers by name',
    group: 'SET UP',
    details: `secret set asks for a value and shows nothing of it, or reads it from standard input. The
configuration refers to it as \${keyring:NAME}. The keyring of the system has the secrets where
@napi-rs/keyring is installed; otherwise it is ~/.mcps-proxy/secrets.json, which only you can read.
secret list prints names alone.`,
    examples: [
      'mcps-proxy secret set github',
      'op read op://work/github/token | mcps-proxy secret set github',
    ],
  },
  {
    name: 'token',
    takes: 'create|list|revoke NAME',
    about: 'tokens of single clients over HTTP',
    group: 'SET UP',
    details: `token create prints a new token once. The configuration gets its name and its SHA-256, from which
the token cannot be had. With --profile its clients reach that profile alone, at /p/NAME/mcp.
token revoke takes it out again. A running gateway reads the file:
clients of a revoked token get 401, and their sessions end.`,
    examples: ['mcps-proxy token create ci --profile review --expires 30d', 'mcps-proxy token revoke ci'],
  },
  {
    name: 'check',
    takes: '[FILE]',
    about: 'every problem of the configuration; starts nothing',
    group: 'SET UP',
    details: `Prints every problem of a configuration, and what is allowed and would fail, such as a
program that does not exist. With --start it also starts every server and says what came of it.`,
    examples: ['mcps-proxy check ./mcp.json', 'mcps-proxy check --start'],
  },
  {
    name: 'doctor',
    takes: '[NAME]',
    about: 'starts each server once: why it fails, what mends it',
    group: 'SET UP',
    details: `Starts every server of a schema at the same time, or the one that is named, and says for each how
long it took, what it speaks, how many tools it has and about how many tokens their definitions
cost a model; or why it failed, with its last words and what mends that. What it learns is kept:
the first client sees the lists at once. The exit code is 1 when a server failed.`,
    examples: ['mcps-proxy doctor', 'mcps-proxy doctor github --json', 'mcps-proxy list --profile review'],
  },
  {
    name: 'lock',
    takes: '',
    about: 'what servers list against mcps.lock, which git keeps',
    group: 'SET UP',
    details: `Starts every server and compares its tools, prompts and instructions with mcps.lock, which
stands beside the configuration file. A server that is not locked yet is locked with what it lists;
each other change is printed, with what differs. --accept takes over what a server or a tool is now,
and --check writes nothing. The exit code is 1 where a server differs from the lock or cannot be
listed. Invisible characters are always named.`,
    examples: ['mcps-proxy lock', 'mcps-proxy lock --check', 'mcps-proxy lock --accept files/read_file'],
  },
  {
    name: 'list',
    takes: '[NAME]',
    about: 'servers, their state and their tools',
    group: 'LOOK',
    details: `Starts every server of a schema at the same time, or the one that is named, and prints one line
for each. The exit code is 1 when a server failed; doctor says what mends that.`,
    examples: ['mcps-proxy list', 'mcps-proxy list --json'],
  },
  {
    name: 'tools',
    takes: '[PATTERN]',
    about: 'names and descriptions of tools, as clients see them',
    group: 'LOOK',
    details: `Lists the tools of every server of a schema. A pattern fits any part of a name; with "*", which
stands for any characters, it fits the whole name. --json prints the tools as servers list them.
"(only as a task)" marks a tool that mcps-proxy call cannot call.`,
    examples: ['mcps-proxy tools', "mcps-proxy tools 'github__*' --json"],
  },
  {
    name: 'call',
    takes: 'TOOL [KEY=VALUE... | JSON]',
    about: 'calls a tool and prints its result',
    group: 'LOOK',
    details: `Arguments are KEY=VALUE, or one JSON object. A value is text where the tool takes a string, and
JSON elsewhere. Text is printed as text, images as the files that they were written to, structured
content as JSON where there is no text; --json prints the result as the server wrote it. What a
server asks meanwhile is asked on the terminal. The exit code is 1 when the call fails or its
result has isError.`,
    examples: [
      'mcps-proxy call Time__get_current_time timezone=Europe/Berlin',
      `mcps-proxy call files__read_file '{"path":"/tmp/a.txt"}'`,
    ],
  },
  {
    name: 'read',
    takes: '[URI]',
    about: 'reads a resource and prints it, or lists resources',
    group: 'LOOK',
    details: `Prints text as text, and writes anything else to a file, which is named. Without a URI it lists
the resources and templates of every server; --json prints them as servers list them.`,
    examples: ['mcps-proxy read', 'mcps-proxy read file:///tmp/a.txt'],
  },
  {
    name: 'prompt',
    takes: '[NAME [KEY=VALUE...]]',
    about: 'gets a prompt and prints its messages, or lists prompts',
    group: 'LOOK',
    details: `Every argument of a prompt is text. Without a name it lists the prompts of every server; --json
prints them as servers list them.`,
    examples: ['mcps-proxy prompt', 'mcps-proxy prompt github__review branch=main'],
  },
  {
    name: 'status',
    takes: '[URL]',
    about: 'servers and clients of a gateway that runs',
    group: 'LOOK',
    details: `Asks a running gateway (mcps-proxy http) for its servers and clients, and prints them. Without
a URL it asks the host and port of the configuration, with the token of the configuration; another
gateway gets only the header fields that are given. The exit code is 1 when no gateway answers,
or when one of its servers has failed.`,
    examples: [
      'mcps-proxy status',
      "mcps-proxy status https://mcp.example.com -H 'Authorization: Bearer …' --json",
    ],
  },
  {
    name: 'replay',
    takes: '[FILE...] [-- COMMAND]',
    about: 'transcripts against the proxy, a COMMAND, or --url URL',
    group: 'TEST',
    details: `Replays transcripts against a server and compares its answers, frame by frame: against
the proxy itself, started for it (replay --http starts it with --http); against COMMAND;
or against the MCP server at URL, over Streamable HTTP or the older HTTP+SSE. --portable replays
the transcripts of the package, which every correct MCP server passes.`,
    examples: [
      'mcps-proxy replay session.jsonl',
      'mcps-proxy replay session.jsonl -- node server.js',
      'mcps-proxy replay --portable -- node server.js',
      "mcps-proxy replay session.jsonl --url http://127.0.0.1:3095/mcp --header 'X-Key: …'",
    ],
  },
]

export function commandNamed(name: string | undefined): CommandAbout | undefined {
  return commands.find((command) => command.name === name)
}
