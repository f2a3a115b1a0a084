// Writes `config.schema.json` from the tables in `src/config/`.
//
// usage: node scripts/config-schema.mjs [folder of the compiled sources, default: build/src]

import { readFile, writeFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { format } from 'prettier'

const root = resolve(import.meta.dirname, '..')
const compiled = resolve(process.argv[2] ?? resolve(root, 'build/src'), 'config/json-schema.js')
const { configJsonSchema } = await import(pathToFileURL(compiled).href)
const style = JSON.parse(await readFile(resolve(root, '.prettierrc.json'), 'utf8'))
const text = await format(JSON.stringify(configJsonSchema()), { ...style, parser: 'json' })
await writeFile(resolve(root, 'config.schema.json'), text)
