// Answers the questions of servers on the terminal (MCP, Elicitation).

import process from 'node:process'
import { quote } from '../jsonrpc/text.js'
import { escapeText } from '../text/escape.js'
import { askLine, isAtTerminal } from './prompt-line.js'
import type { JsonValue } from './json-value.js'
import type { Person } from './local-client.js'

/** Shows a text, and asks for a line. */
export interface Dialog {
  readonly tell: (text: string) => void
  readonly ask: (question: string) => Promise<string>
}

/** The person at the terminal; undefined where there is none. */
export function personAtTerminal(): Person | undefined {
  return isAtTerminal() ? personOf(terminal) : undefined
}

/** A person that is asked in a dialog. */
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

/** The typed text, as raw JSON of this type. */
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
