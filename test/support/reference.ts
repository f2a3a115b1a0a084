// The table of commands in the documents, generated from the program.

import { loadCommands } from '../../src/cli/commands.js'

/** Replaces the table between two marks of the document. */
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
