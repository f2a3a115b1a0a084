import { quote } from '../jsonrpc/text.js'

const plainName = /^[\w$-]+$/

/** Returns the path of a member: `a.b`, or `a["b c"]` for an unusual name. The empty path is the whole value. */
export function memberPath(path: string, name: string): string {
  if (!plainName.test(name)) return `${path}[${quote(name)}]`
  return path === '' ? name : `${path}.${name}`
}
