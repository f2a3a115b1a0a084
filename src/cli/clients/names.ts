// The names of the clients, which a command line is read with; the rest is loaded only where it is needed.

export const clientNames = [
  'claude',
  'claude-code',
  'cursor',
  'vscode',
  'windsurf',
  'zed',
  'gemini',
  'codex',
  'cline',
  'continue',
  'copilot',
] as const

export type ClientName = (typeof clientNames)[number]
