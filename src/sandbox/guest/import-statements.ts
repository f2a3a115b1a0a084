// Replaces `import` statements and calls in the code of a session by code that a script may contain.
//
// The console of the engine accepts no modules. A statement therefore becomes an awaited call, and each `import(`
// a call of a function of the session. The search skips strings, templates, comments and regular expressions.

export const importerName = '__import'

/** A piece of text that contains no code, or an `import`. */
const TOKEN =
  /\/\/[^\n]*|\/\*[^]*?\*\/|'(?:\\[^]|[^'\\\n])*'|"(?:\\[^]|[^"\\\n])*"|`(?:\\[^]|[^`\\])*`|(?<=[=(,:[!&|?{};\n]\s*|\breturn\s+|^\s*)\/(?![*/])(?:\\.|\[(?:\\.|[^\]\\\n])*\]|[^/\\\n[])+\/|(?<![\w$.])import\b/g

const CALL = /^import\s*\(/
const STATEMENT = /^import\s*(?:([\w$*{},\s]+?)\s*from\s*)?('[^'\n]*'|"[^"\n]*")\s*;?/

export function withoutImports(code: string): string {
  let text = ''
  let at = 0
  for (const { 0: token, index } of code.matchAll(TOKEN)) {
    if (token !== 'import' || index < at) continue
    const found = replacementAt(code, index)
    if (found === undefined) continue
    text += code.slice(at, index) + found.text
    at = found.end
  }
  return text + code.slice(at)
}

function replacementAt(code: string, index: number): { text: string; end: number } | undefined {
  const from = code.slice(index)
  const [call] = CALL.exec(from) ?? []
  if (call !== undefined) return { text: `${importerName}(`, end: index + call.length }
  const [statement, names, source] = STATEMENT.exec(from) ?? []
  if (statement === undefined || source === undefined) return undefined
  return { text: `${declared(names, `await ${importerName}(${source})`)};`, end: index + statement.length }
}

/** Handles the forms `a, * as b` and `a, { b as c }`. */
function declared(names: string | undefined, module: string): string {
  if (names === undefined) return module
  const [, first, whole, members] =
    /^([\w$]+)?\s*,?\s*(?:\*\s*as\s+([\w$]+)|\{([^}]*)\})?$/.exec(names.trim()) ?? []
  const picked = [first && `default: ${first}`, members?.replace(/([\w$]+)\s+as\s+/g, '$1: ')].filter(Boolean)
  if (whole === undefined) return `const { ${picked.join(', ')} } = ${module}`
  const rest = first === undefined ? '' : `; const { default: ${first} } = ${whole}`
  return `const ${whole} = ${module}${rest}`
}
