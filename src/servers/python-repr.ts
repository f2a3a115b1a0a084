// Values as Python's `repr` prints them.
//
// Clients see these texts in the errors of the Python server, and this server
// promises the same texts. A number is printed as JavaScript prints it: whether
// the client wrote `1` or `1.0` is gone once the JSON is parsed.

/** Deeper values print as `...`, so that a hostile message cannot exhaust the stack. */
const depthMax = 32

/** What `repr` prints for a value that came out of JSON. */
export function pythonRepr(value: unknown, depth = 0): string {
  if (typeof value === 'string') return pythonString(value)
  if (value === null) return 'None'
  if (typeof value === 'boolean') return value ? 'True' : 'False'
  if (typeof value !== 'object') return JSON.stringify(value)
  if (depth === depthMax) return '...'
  if (Array.isArray(value)) return `[${value.map((item) => pythonRepr(item, depth + 1)).join(', ')}]`
  const pairs = Object.entries(value).map(
    ([key, item]) => `${pythonString(key)}: ${pythonRepr(item, depth + 1)}`,
  )
  return `{${pairs.join(', ')}}`
}

/** What `repr` prints for a string: single quotes unless only double quotes save the escapes. */
export function pythonString(text: string): string {
  const quote = text.includes("'") && !text.includes('"') ? '"' : "'"
  const escaped = text.replace(/[\\'"]|(?! )[\p{C}\p{Z}]/gu, (char) => escape(char, quote))
  return quote + escaped + quote
}

const NAMED_ESCAPES: ReadonlyMap<string, string> = new Map([
  ['\n', '\\n'],
  ['\r', '\\r'],
  ['\t', '\\t'],
  ['\\', '\\\\'],
])

function escape(char: string, quote: string): string {
  if (char === "'" || char === '"') return char === quote ? `\\${char}` : char
  const named = NAMED_ESCAPES.get(char)
  if (named !== undefined) return named
  const hex = (char.codePointAt(0) ?? 0).toString(16)
  if (hex.length <= 2) return `\\x${hex.padStart(2, '0')}`
  return hex.length <= 4 ? `\\u${hex.padStart(4, '0')}` : `\\U${hex.padStart(8, '0')}`
}
