// Writes `config.schema.json` from the tables in `src/config/`.
//
// usage: node scripts/config-schema.mjs

import { readFile, writeFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { build } from 'esbuild'
import { format } from 'prettier'

const root = resolve(import.meta.dirname, '..')
const outfile = resolve(root, 'build/config-schema.mjs')
const entryPoints = [resolve(root, 'src/config/json-schema.ts')]
await build({ entryPoints, outfile, bundle: true, packages: 'external', platform: 'node', format: 'esm' })
const { configJsonSchema } = await import(pathToFileURL(outfile).href)
const style = JSON.parse(await readFile(resolve(root, '.prettierrc.json'), 'utf8'))
const text = await format(JSON.stringify(configJsonSchema()), { ...style, parser: 'json' })
await writeFile(resolve(root, 'config.schema.json'), text)
