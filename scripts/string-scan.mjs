// Writes or prints src/jsonrpc/string-scan.ts, the program that finds long strings.
//
// usage: node scripts/string-scan.mjs [--print]

import { writeFileSync } from 'node:fs'
import { program } from './string-scan/program.mjs'

const source = `// Made by scripts/string-scan.mjs from the program beside it.

/** A WebAssembly module that finds the long strings of a JSON text, in base64. */
export const stringScan =
  '${Buffer.from(program).toString('base64')}'
`

if (process.argv.includes('--print')) process.stdout.write(source)
else writeFileSync(new URL('../src/jsonrpc/string-scan.ts', import.meta.url), source)
