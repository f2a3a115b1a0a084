// How long clients wait for an answer, before they give the server up.

/** The time between the end of a wait and the moment at which the client gives up. */
const MARGIN_MS = 2000

/** For clients that are not in the table, and for those that show their user how far a request has come. */
const UNKNOWN_MS = 8000
const PROGRESS_MS = 45_000

/**
 * How long a client waits for a server, in milliseconds, by the beginning of its `clientInfo.name`. The default of its
 * documentation or source; where that is longer than a minute, a minute.
 */
const clientLimitsMs: readonly (readonly [name: string, limitMs: number])[] = [
  // Codex (`startup_timeout_sec`, which covers `initialize` and the lists).
  ['codex-mcp-client', 10_000],
  // Claude Code (`MCP_TIMEOUT`).
  ['claude-code', 30_000],
  // Claude Desktop, and others that use the TypeScript SDK with its default.
  ['claude-ai', 60_000],
  ['cursor-vscode', 60_000],
  ['Visual Studio Code', 60_000],
  // Copilot CLI.
  ['github-copilot-developer', 60_000],
  ['gemini-cli-mcp-client', 60_000],
  ['goose', 60_000],
  ['langchain-mcp-adapter', 60_000],
  ['windsurf-client', 60_000],
  ['Zed', 60_000],
  // The default of the Python SDK; the OpenAI Agents SDK sets five seconds.
  ['mcp', 5000],
]

/** How long an answer to this client may be held back; `hasToken` says whether its request has a progress token. */
export function patienceMs(client: string | undefined, hasToken: boolean): number {
  // The default of the Python SDK is a whole name, since it is the beginning of many others.
  const isOf = (name: string): boolean =>
    name === 'mcp' ? client === name : client?.startsWith(name) === true
  const limitMs = clientLimitsMs.find(([name]) => isOf(name))?.[1]
  const unknownMs = hasToken ? PROGRESS_MS : UNKNOWN_MS
  return limitMs === undefined ? unknownMs : limitMs - MARGIN_MS
}
