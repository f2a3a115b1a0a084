// The text of a source file, taken apart far enough to hold rules about it: its
// imports, its code without comments, and its code without comments and strings.

import { readFileSync, readdirSync } from 'node:fs'
import { dirname, join, posix, relative, sep } from 'node:path'
import { fileURLToPath } from 'node:url'

/** The folder of package.json, whether this runs from `build/test` or from a copy of it elsewhere. */
export const root: string = findRoot(dirname(fileURLToPath(import.meta.url)))

function findRoot(from: string): string {
  for (let folder = from; ; folder = dirname(folder)) {
    if (readdirSync(folder).includes('package.json')) return folder
    if (dirname(folder) === folder) return process.cwd()
  }
}

export interface Import {
  /** As written: `./scan.js`, `node:fs`, `ajv`. */
  readonly specifier: string
  /** The source file it names, from the root (`src/jsonrpc/scan.ts`); undefined for packages and builtins. */
  readonly file: string | undefined
  readonly isType: boolean
}

export interface SourceFile {
  /** From the root, with `/`. */
  readonly path: string
  readonly text: string
  /** Without comments. */
  readonly code: string
  /** Without comments and without the insides of texts and regular expressions. */
  readonly bare: string
  readonly imports: readonly Import[]
}

/** Every TypeScript file under a folder of the project. */
export function readSources(folder: string): SourceFile[] {
  const names = readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
  return names
    .filter((name) => /\.tsx?$/.test(name))
    .map((name) =>
      relative(root, join(root, folder, name))
        .split(sep)
        .join('/'),
    )
    .sort()
    .map((path) => readSource(path, readFileSync(join(root, path), 'utf8')))
}

export function readSource(path: string, text: string): SourceFile {
  const parts = takeApart(text)
  const code = parts.map((part) => (part.kind === 'comment' ? ' ' : part.text)).join('')
  const bare = parts.map((part) => (part.kind === 'code' ? part.text : part.kind === 'comment' ? ' ' : "''"))
  return { path, text, code, bare: bare.join(''), imports: importsOf(path, code) }
}

/** A statement that names a module begins a line; only an `import()` may stand anywhere. */
const statement =
  /^[ \t]*(import|export)\s+(type\s+)?(?:(?:[\w$*{][^'"`;]*?|\})\s*from\s*)?(['"])([^'"]+)\3|(typeof\s+)?\bimport\(\s*(['"])([^'"]+)\6/gm

function importsOf(path: string, code: string): Import[] {
  return [...code.matchAll(statement)].map((match) => {
    const [, , type, , named, typeOf, , called] = match
    const specifier = named ?? called ?? ''
    return {
      specifier,
      file: specifier.startsWith('.') ? resolve(path, specifier) : undefined,
      isType: type !== undefined || typeOf !== undefined,
    }
  })
}

function resolve(from: string, specifier: string): string {
  return posix.join(posix.dirname(from), specifier).replace(/\.js$/, '.ts')
}

interface Part {
  readonly kind: 'code' | 'comment' | 'string' | 'regexp'
  readonly text: string
}

/** In this order: comments, quoted strings, then a regular expression, which follows no value. */
const token =
  /\/\/[^\n]*|\/\*[^]*?\*\/|'(?:[^'\\\n]|\\[^])*'|"(?:[^"\\\n]|\\[^])*"|(?<=(?:^|[=(,:[!&|?{};>+*~^-]|\breturn|\btypeof)\s*)\/(?![*/])(?:[^/\\\n[]|\\.|\[(?:[^\]\\\n]|\\.)*\])+\/[dgimsuvy]*/g

/** Templates are read by hand, since they nest; what stands in `${}` is code again. */
function takeApart(text: string): Part[] {
  const parts: Part[] = []
  let at = 0
  while (at < text.length) {
    token.lastIndex = at
    const match = token.exec(text)
    const tick = text.indexOf('`', at)
    if (tick >= 0 && (match === null || tick < match.index)) {
      const end = endOfTemplate(text, tick)
      parts.push({ kind: 'code', text: text.slice(at, tick) }, ...templateParts(text.slice(tick, end)))
      at = end
    } else if (match === null) {
      parts.push({ kind: 'code', text: text.slice(at) })
      at = text.length
    } else {
      const [found] = match
      parts.push({ kind: 'code', text: text.slice(at, match.index) }, { kind: kindOf(found), text: found })
      at = match.index + found.length
    }
  }
  return parts
}

function kindOf(found: string): Part['kind'] {
  if (found.startsWith('//') || found.startsWith('/*')) return 'comment'
  return found.startsWith('/') ? 'regexp' : 'string'
}

/** Where the template that starts at `from` ends; templates inside its `${}` are skipped whole. */
function endOfTemplate(text: string, from: number): number {
  let at = from + 1
  while (at < text.length && text[at] !== '`') {
    if (text[at] === '\\') at += 2
    else if (text.startsWith('${', at)) at = endOfHole(text, at + 2)
    else at++
  }
  return at + 1
}

function endOfHole(text: string, from: number): number {
  let depth = 1
  let at = from
  while (at < text.length && depth > 0) {
    const char = text[at]
    if (char === '`') at = endOfTemplate(text, at)
    else if (char === "'" || char === '"') at = text.indexOf(char, at + 1) + 1
    else {
      if (char === '{') depth++
      if (char === '}') depth--
      at++
    }
  }
  return at
}

function templateParts(template: string): Part[] {
  const parts: Part[] = []
  let from = 0
  for (let at = 1; at < template.length; at++) {
    if (template[at] === '\\') at++
    else if (template.startsWith('${', at)) {
      const end = endOfHole(template, at + 2)
      parts.push({ kind: 'string', text: template.slice(from, at) }, ...takeApart(template.slice(at, end)))
      from = end
      at = end - 1
    }
  }
  return [...parts, { kind: 'string', text: template.slice(from) }]
}

/** `bare` without everything inside braces: what stands at the top level of the module. */
export function topLevel(bare: string): string {
  let depth = 0
  let kept = ''
  for (const char of bare) {
    if (char === '}') depth--
    if (depth === 0) kept += char
    if (char === '{') depth++
  }
  return kept
}
