// The program as tests start it, beside what they are compiled to: a bundle like the one that is shipped, since
// most of what hundreds of starts of single modules cost is to find and read them.
//
//   build/program   the program
//   build/servers   servers by other authors
//   build/patient   the same, whose answer to `initialize` waits for servers as long as a busy machine takes to start them

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

/** A server finds its files beside its own modules. */
function keepPlaces({ onLoad }) {
  onLoad({ filter: /server-\w+[\\/]dist[\\/].*\.js$/ }, ({ path }) => ({
    contents: readFileSync(path, 'utf8').replaceAll(
      'import.meta.url',
      JSON.stringify(pathToFileURL(path).href),
    ),
  }))
}

/** As it stands in the bundle, and what stands there instead. */
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
