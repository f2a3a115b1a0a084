// A rough tokenizer for source files: their imports, their code without comments, and their code without comments and
// strings.

import { readFileSync, readdirSync } from 'node:fs'
import { dirname, join, posix, sep } from 'node:path'
import { fileURLToPath } from 'node:url'

/** The folder of package.json, both for `build/test` and for a copy of it elsewhere. */
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
  /** The imported source file, relative to the root (`src/jsonrpc/scan.ts`). Undefined for packages and builtins. */
  readonly file: string | undefined
  readonly isType: boolean
}

export interface SourceFile {
  /** Relative to the root, with `/`. */
  readonly path: string
  readonly text: string
  readonly code: string
  /** Without comments, strings and regular expressions, but with the code in templates. */
  readonly bare: string
  readonly imports: readonly Import[]
}

export function readSources(folder: string): SourceFile[] {
  return sourcePaths(folder).map((path) => readSource(path, readFileSync(join(root, path), 'utf8')))
}

/** The source files below a folder, without the packages that are installed there. */
export function sourcePaths(folder: string): string[] {
  return readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => /\.tsx?$/.test(name) && !name.split(sep).includes('node_modules'))
    .map((name) => [folder, ...name.split(sep)].join('/'))
    .sort()
}

/** In this order: comments, strings, regular expressions, which never follow a value. */
const token =
  /(\/\/[^\n]*|\/\*[^]*?\*\/)|'(?:[^'\\\n]|\\[^])*'|"(?:[^"\\\n]|\\[^])*"|`(?:[^`\\]|\\[^])*`|(?<=(?:^|[=(,:[!&|?{};>+*~^-]|\breturn|\btypeof)\s*)\/(?![*/])(?:[^/\\\n[]|\\.|\[(?:[^\]\\\n]|\\.)*\])+\/[dgimsuvy]*/g

function readSource(path: string, text: string): SourceFile {
  const code = text.replaceAll(token, (found, comment) => (comment === undefined ? found : ' '))
  const bare = code.replaceAll(token, (found) => `'${(found.match(/(?<=\$\{)[^}]*/g) ?? []).join(' ')}'`)
  return { path, text, code, bare, imports: importsOf(path, code) }
}

/** Such statements begin a line; only `import()` may be anywhere. */
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
