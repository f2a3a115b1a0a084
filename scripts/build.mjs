// Bundles the program, because every client starts it, and each start should not open a hundred files. The compiler
// writes the types.
//
// usage: node scripts/build.mjs [FOLDER]        FOLDER is the output; `dist` by default

import { chmod, copyFile, readFile, readdir, rm, writeFile } from 'node:fs/promises'
import { createRequire, isBuiltin } from 'node:module'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build, transform } from 'esbuild'
import { importsOfStages } from './stages.mjs'

/** Node makes all three standard streams for an import of `node:process`, but only the used ones for the global. */
const globalProcess = {
  name: 'global-process',
  setup(build) {
    build.onResolve({ filter: /^node:process$/ }, ({ path }) => ({ path, namespace: 'global-process' }))
    build.onLoad({ filter: /.*/, namespace: 'global-process' }, () => ({
      contents: 'export default globalThis.process',
    }))
  },
}

/**
 * Bundles the packages that every run needs. A gateway must not open them late, because an upgrade may replace
 * the files while it runs.
 */
const bundledPackages = {
  name: 'bundled-packages',
  setup(build) {
    build.onResolve({ filter: /^(eventemitter3|ajv|p-queue|cross-spawn)(\/|$)/ }, ({ path }) => ({
      path: fileURLToPath(import.meta.resolve(path)),
    }))
    // Node would resolve the CommonJS file of the package.
    build.onResolve({ filter: /^mri$/ }, ({ path }) => ({
      path: fileURLToPath(new URL('index.mjs', import.meta.resolve(path))),
    }))
    // The main file is UMD, from which the bundler cannot remove unused code.
    build.onResolve({ filter: /^jsonc-parser$/ }, ({ path }) => ({
      path: fileURLToPath(new URL('../esm/main.js', import.meta.resolve(path))),
    }))
    // Bundles also the packages that a bundled package requires. A module cannot `require` builtins.
    build.onResolve({ filter: /^[a-z@]/ }, ({ path, importer }) => {
      if (!importer.includes('/node_modules/')) return undefined
      if (isBuiltin(path)) return { path, namespace: 'builtin' }
      return { path: createRequire(importer).resolve(path) }
    })
    build.onLoad({ filter: /.*/, namespace: 'builtin' }, ({ path }) => ({
      contents: `module.exports = process.getBuiltinModule(${JSON.stringify(path)})`,
    }))
  },
}

/** Loads the sources with added statements, without comments: the bundler would keep the comments in classes. */
function sources(added) {
  return {
    name: 'sources',
    setup(build) {
      build.onLoad({ filter: /[\\/]node_modules[\\/].*\.m?js$/ }, async ({ path }) => {
        const text = await readFile(path, 'utf8')
        const { code } = await transform(text, { target, minifyWhitespace: true, legalComments: 'none' })
        return { contents: code }
      })
      build.onLoad({ filter: /\.ts$/ }, async ({ path }) => {
        // The bundle contains packages of `requireLate`, and evaluates them at the call.
        const source = (await readFile(path, 'utf8')).replaceAll("=> requireLate('", "=> require('")
        const text = `${source}\n${added.get(path) ?? ''}`
        const { code } = await transform(text, { loader: 'ts', target, minifyWhitespace: true })
        return { contents: code }
      })
    },
  }
}

const target = 'node20.19'
const [to = 'dist'] = process.argv.slice(2)
await rm(to, { recursive: true, force: true })
const packages = new Set()
// Entries of one build share chunks. The command is a separate build, so that it needs fewer chunks.
await bundle(['src/cli.ts'], ['src/cli.ts', 'src/cli/serve.ts'])
await bundle(['src/index.ts', 'src/jsonrpc/index.ts'], ['src/jsonrpc/index.ts', 'src/index.ts'])
await bundle(['src/servers/time.ts'], [])
await bundle(['src/sandbox.ts'], [])
await page()
// A sandbox machine gets the agent as one file.
await bundle(['src/sandbox/guest/agent.ts'], [])
await writeFile(
  join(to, 'licenses.txt'),
  (
    await Promise.all(
      Array.from(packages)
        .toSorted((a, b) => (a < b ? -1 : 1))
        .map(licenseOf),
    )
  ).join('\n'),
)
await chmod(join(to, 'cli.js'), 0o755)

/** Bundles entries. Each of the `stages` becomes one chunk. */
async function bundle(entryPoints, stages) {
  const options = {
    entryPoints,
    outdir: to,
    outbase: 'src',
    bundle: true,
    splitting: true,
    packages: 'external',
    platform: 'node',
    format: 'esm',
    target,
    logLevel: 'warning',
    plugins: [globalProcess, bundledPackages],
    metafile: true,
  }
  const plugins = [...options.plugins, sources(await importsOfStages(options, stages))]
  const { metafile } = await build({ ...options, plugins })
  addPackages(metafile)
}

async function page() {
  const { metafile } = await build({
    entryPoints: { app: 'src/ui/app.tsx' },
    outdir: join(to, 'ui'),
    bundle: true,
    minify: true,
    format: 'esm',
    target: 'es2023',
    charset: 'utf8',
    legalComments: 'none',
    jsx: 'automatic',
    jsxImportSource: 'preact',
    logLevel: 'warning',
    metafile: true,
  })
  addPackages(metafile)
  const { code } = await transform(await readFile('src/ui/app.css', 'utf8'), { loader: 'css', minify: true })
  await writeFile(join(to, 'ui/app.css'), code)
  await copyFile('src/ui/index.html', join(to, 'ui/index.html'))
}

function addPackages({ inputs }) {
  for (const input of Object.keys(inputs)) {
    const [folder] = /^node_modules\/(@[^/]+\/)?[^/]+/.exec(input) ?? []
    if (folder !== undefined) packages.add(folder)
  }
}

async function licenseOf(folder) {
  const names = await readdir(folder)
  const texts = await Promise.all(
    names.filter((name) => /^licen[cs]e/i.test(name)).map((name) => readFile(`${folder}/${name}`, 'utf8')),
  )
  return `${folder.slice('node_modules/'.length)}\n\n${texts.join('\n')}`
}
