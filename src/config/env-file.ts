// `envFile` of a server, as VS Code and Cursor have it: variables for its program, in the format of dotenv files.

import process from 'node:process'
import type { Section } from './section.js'
import { readTextFile } from './text-file.js'

/** A file of variables is some lines; a log or an image given by mistake is larger. */
const bytesMax = 256 * 1024

/** The variables of a file. */
export interface EnvFile {
  readonly values: ReadonlyMap<string, string>
  /** Why the server cannot have them. */
  readonly trouble?: string
}

/** Reads a file; a warning repeats neither a value nor what stands in place of a name, since both may be secret. */
export function readEnvFile(path: string, server: Section): EnvFile {
  const file = readTextFile(path, bytesMax)
  if (file.kind !== 'read') return { values: new Map(), trouble: `envFile ${path}: ${file.why}` }
  // To import the module would make Node.js load what else it exports, at every start.
  const { parseEnv } = process.getBuiltinModule('node:util')
  const values = new Map<string, string>()
  for (const [name, value = ''] of Object.entries(parseEnv(file.text))) {
    if (isName.test(name) && !value.includes('\0')) values.set(name, value)
    else server.warn('envFile', 'has a line with "=" that is not like NAME=value and is ignored')
  }
  if (values.size === 0 && /^\s*[^#\s]/m.test(file.text))
    server.warn('envFile', 'has no line like NAME=value')
  return { values }
}

const isName = /^[A-Za-z_][\w.-]*$/
