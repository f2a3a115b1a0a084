// The table of commands in docs/command-line.md, from the tables of the commands.

import { spelled } from '../../src/cli/command-line.js'
import { loadCommands } from '../../src/cli/commands.js'

export const referenceStart = '<!-- The table of commands comes from the program. -->\n'
export const referenceEnd = '<!-- The end of this table. -->\n'

/** The text between the two marks. */
export async function commandReference(): Promise<string> {
  const rows = (await loadCommands()).map(({ name, takes, about, options }) =>
    ['', codeCell(`${name} ${takes}`.trim()), inCell(about), optionsCell(options), ''].join(' | ').trim(),
  )
  return ['', '| command | | options |', '|---|---|---|', ...rows, '', ''].join('\n')
}

function optionsCell(options: object): string {
  return Object.keys(options)
    .map((name) => codeCell(spelled(name)))
    .join(', ')
}

function codeCell(text: string): string {
  return `\`${inCell(text)}\``
}

function inCell(text: string): string {
  return text.replaceAll('|', String.raw`\|`)
}
