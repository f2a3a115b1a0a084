// Makes the programs that tests start, beside the compiled tests. Bundles make hundreds of starts faster,
// because Node spends most of a start on finding and reading single modules.
//
//   build/program   the program
//   build/servers   servers by other authors
//   build/patient   the program with a longer `initializeGraceMs`, for a busy machine that starts servers slowly

import { execFileSync } from 'node:child_process'
import { cpSync, readFileSync, readdirSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { build } from 'esbuild'

const root = resolve(import.meta.dirname, '..')
const built = join(root, 'build/program')
const patient = join(root, 'build/patient')

for (const script of ['build.mjs', 'guests.mjs'])
  execFileSync(process.execPath, [join(root, 'scripts', script), built], { cwd: root, stdio: 'inherit' })

const packages = join(root, 'node_modules/@modelcontextprotocol')
await build({
  entryPoints: Object.fromEntries(
    ['everything', 'filesystem', 'memory'].map((name) => [
      name,
      join(packages, `server-${name}/dist/index.js`),
    ]),
  ),
  outdir: join(root, 'build/servers'),
  bundle: true,
  platform: 'node',
  format: 'esm',
  target: 'node20.19',
  banner: {
    js: "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);",
  },
  plugins: [{ name: 'places', setup: keepPlaces }],
  logLevel: 'error',
})

/** Keeps the original `import.meta.url`, because a server finds its files beside its modules. */
function keepPlaces({ onLoad }) {
  onLoad({ filter: /server-\w+[\\/]dist[\\/].*\.js$/ }, ({ path }) => ({
    contents: readFileSync(path, 'utf8').replaceAll(
      'import.meta.url',
      JSON.stringify(pathToFileURL(path).href),
    ),
  }))
}

/** The text in the bundle, and its replacement. */
const grace = /\binitializeGraceMs: 1e3\b/
const longGrace = 'initializeGraceMs: 12e4'

cpSync(built, patient, { recursive: true })
const changed = readdirSync(patient).filter((name) => name.endsWith('.js') && changedIn(join(patient, name)))
if (changed.length === 0)
  throw new Error(`${patient}: no file has ${grace}, which bounds how long initialize waits for servers`)

function changedIn(file) {
  const text = readFileSync(file, 'utf8')
  const longer = text.replace(grace, longGrace)
  if (longer !== text) writeFileSync(file, longer)
  return longer !== text
}
