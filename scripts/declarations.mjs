// Removes the declaration files that no entry of the package imports.
//
// usage: node scripts/declarations.mjs FOLDER        FOLDER contains the output of the compiler

import { existsSync, readFileSync, readdirSync, rmSync, rmdirSync } from 'node:fs'
import { dirname, join } from 'node:path'

const [, , folder] = process.argv
if (folder === undefined) throw new Error('usage: node scripts/declarations.mjs FOLDER')

const reached = new Set()
const waiting = ['index.d.ts', 'jsonrpc/index.d.ts'].map((name) => join(folder, name))
for (const path of waiting) {
  if (reached.has(path)) continue
  reached.add(path)
  const text = readFileSync(path, 'utf8')
  for (const [, specifier] of text.matchAll(/(?:from|import\()\s*'(\.[^']+)\.js'/g)) {
    const next = join(dirname(path), `${specifier}.d.ts`)
    if (!existsSync(next)) throw new Error(`${path} imports ${specifier}, which is not there`)
    waiting.push(next)
  }
}

const entries = readdirSync(folder, { recursive: true })
for (const name of entries.filter((each) => each.endsWith('.d.ts')))
  if (!reached.has(join(folder, name))) rmSync(join(folder, name))
// Inner folders have longer paths than outer ones, and must go first.
for (const { path } of readdirSync(folder, { recursive: true, withFileTypes: true })
  .filter((entry) => entry.isDirectory())
  .map((entry) => ({ path: join(entry.parentPath, entry.name) }))
  .toSorted((one, other) => other.path.length - one.path.length))
  if (readdirSync(path).length === 0) rmdirSync(path)
