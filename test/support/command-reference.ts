// The tables of commands and options in docs/command-line.md, from the tables of the commands.

import { type Option, spellingsOf } from '../../src/cli/command-line.js'
import { loadCommands } from '../../src/cli/commands.js'

export const referenceStart = '<!-- The tables of commands and options come from the program. -->\n'
export const referenceEnd = '<!-- The end of these tables. -->\n'

/** The text between the two marks. */
export async function commandReference(): Promise<string> {
  const commands = await loadCommands()
  const rows = new Map<string, string[]>()
  for (const { name, options } of commands)
    for (const [option, each] of Object.entries(options)) {
      const row = `| ${spellingsIn(option, each)} |`
      const meaning = `| ${inCell(each.about)} |`
      rows.set(`${row}\0${meaning}`, [...(rows.get(`${row}\0${meaning}`) ?? []), name])
    }
  const ofOptions = [...rows]
    .map(([key, names]) => key.replace('\0', ` ${names.map((name) => `\`${name}\``).join(', ')} `))
    .sort((one, other) => (one.toLowerCase() < other.toLowerCase() ? -1 : 1))
  return `
| command | |
|---|---|
${commands.map(({ name, takes, about }) => `| \`${inCell(`${name} ${takes}`.trim())}\` | ${inCell(about)} |`).join('\n')}

| option | of | |
|---|---|---|
${ofOptions.join('\n')}

`
}

function spellingsIn(name: string, option: Option<unknown>): string {
  const [first = '', ...others] = spellingsOf(name, option)
  const value = option.value === '' ? '' : ` ${option.value}`
  return [`${first}${value}`, ...others].map((each) => `\`${inCell(each)}\``).join(', ')
}

function inCell(text: string): string {
  return text.replaceAll('|', String.raw`\|`)
}
