import { quote } from '../jsonrpc/text.js'

const plainName = /^[\w$-]+$/

/** The path of a member: `a.b`, or `a["b c"]` when the name would be misread; the empty path is the whole value. */
export function memberPath(path: string, name: string): string {
  if (!plainName.test(name)) return `${path}[${quote(name)}]`
  return path === '' ? name : `${path}.${name}`
}
