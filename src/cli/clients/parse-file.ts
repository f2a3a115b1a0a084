// The servers in the text of a client's file, whatever its format.

import { readJsonFile } from './json-file.js'
import type { FileReading } from './servers-file.js'
import type { Client } from './table.js'
import { readTomlFile } from './toml-file.js'
import { readYamlFile } from './yaml-file.js'

const BOM = '\ufeff'

export function parseServersFile(client: Pick<Client, 'format' | 'key'>, text: string): FileReading {
  if (text.startsWith(BOM)) {
    const reading = parseServersFile(client, text.slice(BOM.length))
    return reading.kind === 'refused' ? reading : { ...reading, edit: (edits) => BOM + reading.edit(edits) }
  }
  const { format, key } = client
  switch (format) {
    case 'json':
      return readJsonFile(text, key)
    case 'toml':
      return readTomlFile(text, key)
    case 'yaml':
      return readYamlFile(text, key)
  }
}
