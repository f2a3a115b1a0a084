// Asks the person at the terminal, also for servers (MCP 2025-11-25, Elicitation).

import process from 'node:process'
import { createInterface } from 'node:readline/promises'
import type { Writable } from 'node:stream'
import { escapeText } from '../text/escape.js'
import type { JsonValue } from './json-value.js'
import type { Person } from './local-client.js'

export function isAtTerminal(): boolean {
  return process.stdin.isTTY && process.stderr.isTTY
}

/** Returns the line that the person types; empty at the end of the input. Stdout carries only results. */
export async function askLine(question: string, output: Writable = process.stderr): Promise<string> {
  const lines = createInterface({ input: process.stdin, output, terminal: process.stdin.isTTY })
  // While readline edits a line, the terminal sends no signal for Ctrl-C.
  lines.once('SIGINT', () => process.kill(process.pid, 'SIGINT'))
  const ended = new Promise<string>((resolve) => lines.once('close', () => resolve('')))
  try {
    return (await Promise.race([lines.question(escapeText(question)), ended])).trim()
  } finally {
    lines.close()
  }
}

export interface Dialog {
  readonly tell: (text: string) => void
  readonly ask: (question: string) => Promise<string>
}

/** Returns undefined if stdin or stderr is no terminal. */
export function personAtTerminal(): Person | undefined {
  return isAtTerminal() ? personOf(terminal) : undefined
}

export function personOf(dialog: Dialog): Person {
  return {
    capabilities: '{"elicitation":{"form":{},"url":{}}}',
    answer: (method, params) => (method === 'elicitation/create' ? elicited(params, dialog) : undefined),
  }
}

const declined = '{"action":"decline"}'

/** Asks the person for consent. The dialog declines a form with fields, because it cannot show them. */
async function elicited(question: JsonValue, { tell, ask }: Dialog): Promise<string> {
  tell(question.string('message') ?? 'A server asks:')
  if (question.string('mode') === 'url') {
    tell(`Open ${question.string('url') ?? 'the address that the server did not give'}`)
    return isYes(await ask('Have you opened it? [y/N] ')) ? '{"action":"accept"}' : declined
  }
  const fields = question.member('requestedSchema')?.member('properties')?.parts ?? []
  if (fields.length === 0)
    return isYes(await ask('Do you agree? [y/N] ')) ? '{"action":"accept","content":{}}' : declined
  tell(
    `It asks for ${fields.map(({ name }) => name).join(', ')}, which is declined: this needs a client with forms.`,
  )
  return declined
}

function isYes(said: string): boolean {
  return /^y(?:es)?$/i.test(said)
}

const terminal: Dialog = {
  tell: (text) => void process.stderr.write(`${text.split('\n').map(escapeText).join('\n')}\n`),
  ask: askLine,
}
