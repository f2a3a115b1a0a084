// Questions to the person at the terminal, also those of servers (MCP, Elicitation).

import process from 'node:process'
import { createInterface } from 'node:readline/promises'
import { quote } from '../jsonrpc/text.js'
import { escapeText } from '../text/escape.js'
import type { JsonValue } from './json-value.js'
import type { Person } from './local-client.js'

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

export interface Dialog {
  readonly tell: (text: string) => void
  readonly ask: (question: string) => Promise<string>
}

/** The person at the terminal; undefined where there is none. */
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

/** An empty answer takes the default; without one the field is left out, and a required one declines. */
async function elicited(question: JsonValue, { tell, ask }: Dialog): Promise<string> {
  tell(question.string('message') ?? 'A server asks:')
  if (question.string('mode') === 'url') {
    tell(`Open ${question.string('url') ?? 'the address that the server did not give'}`)
    return isYes(await ask('Have you opened it? [y/N] ')) ? '{"action":"accept"}' : declined
  }
  const schema = question.member('requestedSchema')
  const properties = schema?.member('properties')
  const required = schema?.member('required')?.items.map(({ text }) => text) ?? []
  const names = properties?.parts.map((part) => part.name) ?? []
  // A form without fields asks for consent alone, as that of a confirmation does.
  if (names.length === 0)
    return isYes(await ask('Do you agree? [y/N] ')) ? '{"action":"accept","content":{}}' : declined
  const content: string[] = []
  for (const name of names) {
    const field = properties?.member(name)
    if (field === undefined) continue
    const said = await ask(promptOf(name, field))
    const value = said === '' ? field.member('default')?.raw : typed(said, field.string('type'))
    if (value !== undefined) content.push(`${quote(name)}:${value}`)
    else if (required.includes(name)) return declined
  }
  return `{"action":"accept","content":{${content.join(',')}}}`
}

function promptOf(name: string, field: JsonValue): string {
  const about = [field.string('title') ?? name, field.string('description')].filter(
    (text) => text !== undefined,
  )
  const choices = field.member('enum')?.items.map(({ raw }) => raw)
  const choice = choices === undefined ? '' : ` (${choices.join(', ')})`
  const usual = field.member('default')
  return `${about.join(', ')}${choice}${usual === undefined ? '' : ` [${usual.raw}]`}: `
}

function typed(said: string, type: string | undefined): string {
  if (type === 'boolean') return String(isYes(said))
  const isNumber = (type === 'number' || type === 'integer') && /^-?(?:0|[1-9]\d*)(?:\.\d+)?$/.test(said)
  return isNumber ? said : quote(said)
}

function isYes(said: string): boolean {
  return /^(?:y|yes|true|1)$/i.test(said)
}

const terminal: Dialog = {
  tell: (text) => void process.stderr.write(`${text.split('\n').map(escapeText).join('\n')}\n`),
  ask: askLine,
}
