// Colours, only where they are wanted: chalk is loaded when stderr is a terminal and `NO_COLOR` is not set.

import type { LogLevel } from '../runtime/runtime.js'

/** The kinds of text in a log line, each with its colour. */
export type PaintRole = LogLevel | 'time' | 'service' | 'title'

/** Text in the colour of its role, or without colour. */
export type Paint = (role: PaintRole, text: string) => string

export const noPaint: Paint = (_role, text) => text

/** Whether to colour what goes to a terminal: `NO_COLOR` (any non-empty value) and `TERM=dumb` say no. */
export function wantsColors(isTerminal: boolean, env: Readonly<Record<string, string | undefined>>): boolean {
  return isTerminal && (env['NO_COLOR'] ?? '') === '' && env['TERM'] !== 'dumb'
}

export async function loadPaint(): Promise<Paint> {
  const { Chalk } = await import('chalk')
  // The caller decided that colours are wanted; chalk looks at stdout, which is not where we write.
  const chalk = new Chalk({ level: 1 })
  const colors = {
    error: chalk.red,
    warn: chalk.yellow,
    info: chalk.green,
    debug: chalk.gray,
    time: chalk.gray,
    service: chalk.cyan,
    title: chalk.bold,
  }
  return (role, text) => colors[role](text)
}
