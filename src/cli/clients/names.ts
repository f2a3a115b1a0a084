// The names of the clients, with which a command line is read; the other files are loaded when they are needed.

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
