// The table of commands in docs/command-line.md, from the tables of the commands.

import { loadCommands } from '../../src/cli/commands.js'

export const referenceStart = '<!-- The table of commands comes from the program. -->\n'
export const referenceEnd = '<!-- The end of this table. -->\n'

/** The text between the two marks. */
export async function commandReference(): Promise<string> {
  const rows = (await loadCommands()).map(
    ({ name, takes, about }) => `| \`${inCell(`${name} ${takes}`.trim())}\` | ${inCell(about)} |`,
  )
  return ['', '| command | |', '|---|---|', ...rows, '', ''].join('\n')
}

function inCell(text: string): string {
  return text.replaceAll('|', String.raw`\|`)
}
