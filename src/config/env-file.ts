// `envFile` of a server, as VS Code and Cursor have it: variables for its program, one a line.

import type { Section } from './section.js'
import { readTextFile } from './text-file.js'

/** A file of variables is some lines; a log or an image given by mistake is not. */
const bytesMax = 256 * 1024

/** The variables of a file. */
export interface EnvFile {
  readonly values: ReadonlyMap<string, string>
  /** Why the server cannot have them. */
  readonly trouble?: string
}

/** Reads a file, and warns `server` of lines that are neither a variable nor a comment; their text may be a secret. */
export function readEnvFile(path: string, server: Section): EnvFile {
  const values = new Map<string, string>()
  const file = readTextFile(path, bytesMax)
  if (file.kind !== 'read') return { values, trouble: `envFile ${path}: ${file.why}` }
  const oddLines: number[] = []
  for (const [index, line] of file.text.split(/\r?\n/).entries()) {
    if (/^\s*(?:#|$)/.test(line)) continue
    const [, name, value = ''] = assignment.exec(line) ?? []
    if (name === undefined || value.includes('\0')) oddLines.push(index + 1)
    else values.set(name, unquoted(value))
  }
  const more = oddLines.length === 1 ? '' : `, and ${oddLines.length - 1} more`
  if (oddLines.length > 0)
    server.warn('envFile', `has line ${oddLines[0]} which is not like NAME=value and is ignored${more}`)
  return { values }
}

const assignment = /^\s*(?:export\s+)?([A-Za-z_][\w.-]*)\s*=\s*(.*?)\s*$/

/** Quotes hold a value as it is; in double ones `\n` is a line break. Without them a comment ends it. */
function unquoted(value: string): string {
  const [, single] = /^'([^']*)'(?:\s*#.*)?$/.exec(value) ?? []
  if (single !== undefined) return single
  const [, double] = /^"([^"\\]*(?:\\.[^"\\]*)*)"(?:\s*#.*)?$/.exec(value) ?? []
  if (double !== undefined)
    return double.replaceAll(/\\(.)/g, (_, sign: string) => (sign === 'n' ? '\n' : sign))
  return value.replace(/\s+#.*$/, '')
}
