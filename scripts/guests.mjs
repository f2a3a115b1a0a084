// Makes the programs that run inside sandboxes. Each is one file, which an interpreter gets as text.
//
// usage: node scripts/guests.mjs FOLDER        FOLDER contains the compiled sources

import { copyFile, mkdir } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { build } from 'esbuild'

const root = resolve(import.meta.dirname, '..')
const from = join(root, 'src/sandbox/guest')
const to = resolve(process.argv[2] ?? 'dist', 'sandbox/guest')

const bundled = ['node-driver.ts', 'relay.ts']
const copied = ['python-driver.py']

await mkdir(to, { recursive: true })
await build({
  outdir: to,
  bundle: true,
  logLevel: 'warning',
  entryPoints: bundled.map((name) => join(from, name)),
  platform: 'node',
  format: 'esm',
  target: 'node20.19',
})
await Promise.all(copied.map((name) => copyFile(join(from, name), join(to, name))))
