// Makes `dist`, the package, or `build`, for tests and the benchmark. Does nothing if the inputs have not
// changed, so every command that needs a target can run this script.
//
// usage: node scripts/make.mjs dist|build

import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'

const root = resolve(import.meta.dirname, '..')
const tsc = 'node_modules/typescript/bin/tsc'
const shared = ['src', 'scripts', 'package.json', 'package-lock.json', 'tsconfig.json', 'tsconfig.build.json']

const targets = {
  dist: {
    inputs: shared,
    steps: [
      ['scripts/build.mjs'],
      ['scripts/guests.mjs', 'dist'],
      [tsc, '-p', 'tsconfig.build.json', '--emitDeclarationOnly'],
      ['scripts/declarations.mjs', 'dist'],
    ],
  },
  build: {
    inputs: [...shared, 'test', 'bench', 'examples'],
    steps: [
      [tsc, '-p', 'tsconfig.json'],
      [tsc, '-p', 'src/ui/tsconfig.json'],
      ['scripts/guests.mjs', 'build/src'],
      ['scripts/test-programs.mjs'],
    ],
  },
}

function* filesBelow(path) {
  if (!statSync(join(root, path)).isDirectory()) yield path
  else
    for (const name of readdirSync(join(root, path)).toSorted())
      if (name !== 'node_modules') yield* filesBelow(join(path, name))
}

function digestOf(inputs) {
  const digest = createHash('sha256').update(process.version)
  for (const input of inputs)
    for (const path of filesBelow(input)) digest.update(`\0${path}\0`).update(readFileSync(join(root, path)))
  return digest.digest('hex')
}

const [target] = process.argv.slice(2)
const { inputs, steps } = targets[target] ?? {}
if (inputs === undefined) throw new Error('usage: node scripts/make.mjs dist|build')

const stamp = join(root, target, '.inputs')
const digest = digestOf(inputs)
if (!existsSync(stamp) || readFileSync(stamp, 'utf8') !== digest) {
  rmSync(join(root, target), { recursive: true, force: true })
  for (const step of steps) {
    const { status } = spawnSync(process.execPath, step, { cwd: root, stdio: 'inherit' })
    if (status !== 0) process.exit(status ?? 1)
  }
  writeFileSync(stamp, digest)
}
