// Asks for secrets on the terminal.

import process from 'node:process'
import { askLine } from '../ask/terminal.js'
import type { InputConfig } from '../config/references.js'
import { escapeText } from '../text/escape.js'

/** The keys as a terminal sends them that hides them: Enter and Ctrl-D, Ctrl-C, Backspace. */
const END = '\r\n\u0004'
const INTERRUPT = '\u0003'
const BACKSPACE = '\u0008\u007f'

/** Reads one line, of which the terminal shows nothing. Standard input must be a terminal. */
export async function askHidden(question: string): Promise<string> {
  const { stdin, stderr } = process
  stderr.write(escapeText(question))
  stdin.setRawMode(true)
  try {
    return await new Promise((resolve) => {
      let line = ''
      const take = (chunk: Buffer | string): void => {
        for (const character of chunk.toString()) {
          if (character === INTERRUPT) interrupt()
          if (END.includes(character)) {
            stdin.off('data', take)
            return resolve(line)
          }
          line = BACKSPACE.includes(character) ? line.replace(/.$/su, '') : line + character
        }
      }
      stdin.on('data', take)
    })
  } finally {
    stdin.setRawMode(false)
    stdin.pause()
    stderr.write('\n')
  }
}

function interrupt(): void {
  process.stdin.setRawMode(false)
  process.kill(process.pid, 'SIGINT')
}

/** Asks for the value of an input, as VS Code does; undefined for an empty answer without a default. */
export async function askInput(input: InputConfig): Promise<string | undefined> {
  const about = input.description ?? input.id
  const usual = input.default === undefined ? '' : ` [${input.default}]`
  const choices = input.options.map((option, at) => `  ${at + 1} ${option}\n`).join('')
  for (const line of choices.split('\n').filter(Boolean)) process.stderr.write(`${escapeText(line)}\n`)
  const question = `${about}${usual}: `
  const answer = input.password ? await askHidden(question) : await askLine(question)
  const value = input.options[Number(answer) - 1] ?? answer
  return value === '' ? input.default : value
}
