// `envFile` of a server, as VS Code and Cursor have it: variables for its program, one a line.

import { readTextFile } from './text-file.js'

/** A file of variables is some lines; a log or an image given by mistake is not. */
const bytesMax = 256 * 1024

/** The variables of a file, or why it cannot be read. */
export type EnvFile =
  | {
      readonly kind: 'read'
      readonly values: ReadonlyMap<string, string>
      /** Numbers of lines that are neither a variable nor a comment; their text may be a secret. */
      readonly oddLines: readonly number[]
    }
  | { readonly kind: 'unreadable'; readonly why: string }

export function readEnvFile(path: string): EnvFile {
  const file = readTextFile(path, bytesMax)
  if (file.kind !== 'read') return { kind: 'unreadable', why: file.why }
  const values = new Map<string, string>()
  const oddLines: number[] = []
  for (const [index, line] of file.text.split(/\r?\n/).entries()) {
    if (/^\s*(?:#|$)/.test(line)) continue
    const [, name, value = ''] = assignment.exec(line) ?? []
    if (name === undefined || value.includes('\0')) oddLines.push(index + 1)
    else values.set(name, unquoted(value))
  }
  return { kind: 'read', values, oddLines }
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
