// Writes `config.schema.json` and the tables of keys in docs/configuration.md from the tables in `src/config/`. The comment
// above a key is its description in both.
//
// usage: node scripts/config-schema.mjs [--check]        --check writes nothing, and exits with 1 for a difference

import { readFile, writeFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { build } from 'esbuild'
import { format } from 'prettier'

const root = resolve(import.meta.dirname, '..')
const isCheck = process.argv.includes('--check')

/** Adds the comment above each declaration to the declaration. */
const comments = {
  name: 'comments',
  setup(build) {
    build.onLoad({ filter: /[\\/](server-)?keys\.ts$/ }, async ({ path }) => {
      const source = await readFile(path, 'utf8')
      const described = source.replaceAll(
        /^ {2}\/\*\* (.+) \*\/\n {2}(\$?\w+): ([^]*?)(?=,\n(?: {2}[\w/.$]|\}))/gm,
        (_, about, key, declared) => `${key}: { ...${declared}, about: ${JSON.stringify(about)} }`,
      )
      return { contents: described, loader: 'ts' }
    })
  },
}

const outfile = resolve(root, 'build/config-schema.mjs')
const contents = `export { configJsonSchema } from './json-schema.js'\nexport * from './server-keys.js'`
await build({
  stdin: { contents, resolveDir: resolve(root, 'src/config') },
  outfile,
  bundle: true,
  packages: 'external',
  platform: 'node',
  format: 'esm',
  plugins: [comments],
})
const config = await import(pathToFileURL(outfile).href)

const tables = {
  started: config.stdioFields,
  remote: { ...config.httpFields, ...config.sseFields },
  sandbox: config.sandboxFields,
  every: config.anyServerFields,
}

function tableOf(fields) {
  const rows = Object.entries(fields).map(([key, { fallback, about }]) => {
    const isBlock = typeof fallback === 'object' && !Array.isArray(fallback)
    const text = typeof fallback === 'string' ? fallback : JSON.stringify(fallback)
    return [`\`${key}\``, fallback === undefined || isBlock ? '' : `\`${text}\``, about]
  })
  const lines = [['key', 'default', ''], ['---', '---', '---'], ...rows]
  return lines
    .map((cells) => `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |\n`)
    .join('')
}

async function put(path, wanted) {
  const file = resolve(root, path)
  if ((await readFile(file, 'utf8')) === wanted) return
  if (!isCheck) return writeFile(file, wanted)
  console.error(`${path} is not what src/config says; run node scripts/config-schema.mjs`)
  process.exitCode = 1
}

const style = { parser: 'json', tabWidth: 1, printWidth: 320 }
await put('config.schema.json', await format(JSON.stringify(config.configJsonSchema()), style))
const page = await readFile(resolve(root, 'docs/configuration.md'), 'utf8')
await put(
  'docs/configuration.md',
  page.replaceAll(
    /(<!-- table: (\w+) -->\n)[^]*?(<!-- end of table -->\n)/g,
    (_, start, name, end) => `${start}\n${tableOf(tables[name])}\n${end}`,
  ),
)
