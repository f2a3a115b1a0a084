// Asks for secrets on the terminal.

import process from 'node:process'
import { Writable } from 'node:stream'
import { askLine } from '../ask/terminal.js'
import type { InputConfig } from '../config/references.js'
import { escapeText } from '../text/escape.js'

/** Reads one line, of which the terminal shows nothing. Standard input must be a terminal. */
export async function askHidden(question: string): Promise<string> {
  process.stderr.write(escapeText(question))
  const answer = await askLine('', new Writable({ write: (_chunk, _encoding, done) => done() }))
  process.stderr.write('\n')
  return answer
}

/** Asks for the value of an input, as VS Code does; undefined for an empty answer without a default. */
export async function askInput(input: InputConfig): Promise<string | undefined> {
  const about = input.description ?? input.id
  const usual = input.default === undefined ? '' : ` [${input.default}]`
  for (const [at, option] of input.options.entries())
    process.stderr.write(`${escapeText(`  ${at + 1} ${option}`)}\n`)
  const answer = await (input.password ? askHidden : askLine)(`${about}${usual}: `)
  const value = input.options[Number(answer) - 1] ?? answer
  return value === '' ? input.default : value
}
