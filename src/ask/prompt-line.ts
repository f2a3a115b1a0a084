// Questions to the person at the terminal.

import process from 'node:process'
import { createInterface } from 'node:readline/promises'
import { escapeText } from '../text/escape.js'

/** Whether a person can be asked. */
export function isAtTerminal(): boolean {
  return process.stdin.isTTY && process.stderr.isTTY
}

/** The line that the person types, or nothing at the end of the input; stdout is left to results. */
export async function askLine(question: string): Promise<string> {
  const lines = createInterface({ input: process.stdin, output: process.stderr })
  // While a person edits a line, Ctrl-C is a key and sends no signal.
  lines.once('SIGINT', () => process.kill(process.pid, 'SIGINT'))
  const ended = new Promise<string>((resolve) => lines.once('close', () => resolve('')))
  try {
    return (await Promise.race([lines.question(escapeText(question)), ended])).trim()
  } finally {
    lines.close()
  }
}
