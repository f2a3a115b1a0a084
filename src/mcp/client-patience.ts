// How long clients wait for an answer before they give up.

/** How long before the client gives up the proxy answers, in milliseconds. */
const MARGIN_MS = 2000

/** The limits for clients that are not in the table: without and with a progress token. */
const UNKNOWN_MS = 8000
const PROGRESS_MS = 45_000

/**
 * How long a client waits for a server, in milliseconds, by the beginning of its `clientInfo.name`. The value
 * is the default in the client's documentation or source, and at most one minute.
 */
const clientLimitsMs: readonly (readonly [name: string, limitMs: number])[] = [
  // Codex (`startup_timeout_sec`, which covers `initialize` and the lists).
  ['codex-mcp-client', 10_000],
  // Claude Code (`MCP_TIMEOUT`).
  ['claude-code', 30_000],
  // Claude Desktop, and other clients that use the TypeScript SDK with its default.
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

/** How long the proxy may hold back an answer; `hasToken` says whether the request has a progress token. */
export function patienceMs(client: string | undefined, hasToken: boolean): number {
  // `mcp`, the default of the Python SDK, must match as a whole, because many other names begin with it.
  const isOf = (name: string): boolean =>
    name === 'mcp' ? client === name : client?.startsWith(name) === true
  const limitMs = clientLimitsMs.find(([name]) => isOf(name))?.[1]
  const unknownMs = hasToken ? PROGRESS_MS : UNKNOWN_MS
  return limitMs === undefined ? unknownMs : limitMs - MARGIN_MS
}
