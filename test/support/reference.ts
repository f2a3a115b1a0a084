// The tables of the documents that come from the program: the commands, and the keys of servers.

import { loadCommands } from '../../src/cli/commands.js'
import {
  anyServerFields,
  httpFields,
  sandboxFields,
  sseFields,
  stdioFields,
} from '../../src/config/server-keys.js'

interface Key {
  readonly fallback: unknown
  readonly about: string
}

const keys: Readonly<Record<string, Readonly<Record<string, Key>>>> = {
  started: stdioFields,
  remote: { ...httpFields, ...sseFields },
  sandbox: sandboxFields,
  every: anyServerFields,
}

/** The document with its tables as the program has them; each stands between two marks. */
export async function withTables(document: string): Promise<string> {
  const commands = (await loadCommands()).map(({ name, takes, about }) => [code(`${name} ${takes}`), about])
  const tables = new Map([['commands', tableOf(['command', ''], commands)]])
  for (const [name, fields] of Object.entries(keys)) {
    const rows = Object.entries(fields).map(([key, { fallback, about }]) => [
      code(key),
      defaultOf(fallback),
      about,
    ])
    tables.set(name, tableOf(['key', 'default', ''], rows))
  }
  return document.replaceAll(
    /(<!-- table: (\w+) -->\n)[^]*?(<!-- end of table -->\n)/g,
    (_, start: string, name: string, end: string) => `${start}\n${tables.get(name)}\n${end}`,
  )
}

function defaultOf(value: unknown): string {
  const isBlock = typeof value === 'object' && !Array.isArray(value)
  return value === undefined || isBlock ? '' : code(typeof value === 'string' ? value : JSON.stringify(value))
}

function code(text: string): string {
  return `\`${text.trim()}\``
}

function tableOf(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const lines = [head, head.map(() => '---'), ...rows].map(
    (cells) => `| ${cells.map((cell) => cell.replaceAll('|', String.raw`\|`)).join(' | ')} |\n`,
  )
  return lines.join('')
}
