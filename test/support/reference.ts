// The table of commands in the documents, which comes from the program.

import { loadCommands } from '../../src/cli/commands.js'

/** The document with the table as the program has it, between two marks. */
export async function withCommands(document: string): Promise<string> {
  const commands = await loadCommands()
  const rows = commands.map(({ name, takes, about }) => {
    const command = `${name} ${takes}`.trim().replaceAll('|', String.raw`\|`)
    return `| \`${command}\` | ${about} |\n`
  })
  const table = `| command |  |\n| --- | --- |\n${rows.join('')}`
  return document.replace(
    /(<!-- table: commands -->\n)[^]*?(<!-- end of table -->\n)/,
    (_, start: string, end: string) => `${start}\n${table}\n${end}`,
  )
}
