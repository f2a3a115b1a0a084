// One question to the person at the terminal.

import process from 'node:process'
import { createInterface } from 'node:readline/promises'
import { escapeText } from '../text/escape.js'

/** The line that the person types; stdout is left to results. */
export async function askLine(question: string): Promise<string> {
  const lines = createInterface({ input: process.stdin, output: process.stderr })
  try {
    return (await lines.question(escapeText(question))).trim()
  } finally {
    lines.close()
  }
}
