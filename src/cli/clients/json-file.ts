// The servers in a file that is JSON, with comments where its client allows them.

import { readJson } from '../../config/json-syntax.js'
import { removeMember, setMember } from '../../config/json-text.js'
import { isObject } from '../../text/json-object.js'
import { type FileReading, type ServerEdits, refuse } from './servers-file.js'

export function readJsonFile(text: string, key: string): FileReading {
  const result = readJson(text)
  if (result.kind === 'mistake') {
    const { line, column, message } = result.mistake
    return refuse(`is not JSON at line ${line}, column ${column}: ${message}`)
  }
  const { value } = result
  if (!isObject(value)) return refuse('is no JSON object')
  const servers = value[key] ?? {}
  if (!isObject(servers)) return refuse(`has a "${key}" that is no object`)
  const twice = result.repeated.find(({ topKey }) => topKey === key)
  if (twice !== undefined) return refuse(`has ${twice.path} twice`)
  return {
    kind: 'servers',
    servers: new Map(Object.entries(servers)),
    value,
    edit: (edits) => edited(text, key, edits),
  }
}

/** Comments, order and indentation stay. */
function edited(text: string, key: string, { removed, set }: ServerEdits): string {
  let after = text
  for (const [name, entry] of set) after = setMember(after, [key], name, entry)
  for (const name of removed) after = removeMember(after, [key, name])
  return after
}
