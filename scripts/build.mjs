// Bundles the program: a process that is started by every client on every start
// should not open a hundred files. Types come from the compiler.
//
// usage: node scripts/build.mjs [FOLDER]        where to; `dist` unless named, for tests a folder of their own

import { chmod, copyFile, readFile, readdir, rm, writeFile } from 'node:fs/promises'
import { createRequire, isBuiltin } from 'node:module'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build, transform } from 'esbuild'
import { importsOfStages } from './stages.mjs'

/** Node makes all three standard streams for a file that imports its process as a module; as a global it makes those that are used. */
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
 * The packages that are bundled: those that every run needs. A file that is opened later may have gone, since an upgrade
 * replaces `dist` under a running gateway.
 */
const bundledPackages = {
  name: 'bundled-packages',
  setup(build) {
    build.onResolve({ filter: /^(eventemitter3|ajv|p-queue|cross-spawn)(\/|$)/ }, ({ path }) => ({
      path: fileURLToPath(import.meta.resolve(path)),
    }))
    // As a module, which Node would not find.
    build.onResolve({ filter: /^mri$/ }, ({ path }) => ({
      path: fileURLToPath(new URL('index.mjs', import.meta.resolve(path))),
    }))
    // Its main file is UMD, from which nothing can be left out.
    build.onResolve({ filter: /^jsonc-parser$/ }, ({ path }) => ({
      path: fileURLToPath(new URL('../esm/main.js', import.meta.resolve(path))),
    }))
    // The packages that a bundled package requires are bundled with it; a module has no `require` for those of Node.
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

/** The sources, with what is added to some. Comments in classes would be bundled, and read at every start. */
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
        // A package that is required late is in the bundle, and is evaluated when the call is made.
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
/** The folders of the packages that are bundled. */
const packages = new Set()
// Entries that are built together share their chunks: the command shares none with the library, so that it needs fewer of them.
await bundle(['src/cli.ts'], ['src/cli.ts', 'src/cli/serve.ts'])
await bundle(['src/index.ts', 'src/jsonrpc/index.ts'], ['src/jsonrpc/index.ts', 'src/index.ts'])
await bundle(['src/servers/time.ts'], [])
await bundle(['src/sandbox.ts'], [])
await page()
// Enters a machine as one file.
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

/** Each of the `stages` becomes one chunk. */
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

/** The page of the inspector, for browsers. */
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

/** The notices that a package wants beside its code. */
async function licenseOf(folder) {
  const names = await readdir(folder)
  const texts = await Promise.all(
    names.filter((name) => /^licen[cs]e/i.test(name)).map((name) => readFile(`${folder}/${name}`, 'utf8')),
  )
  return `${folder.slice('node_modules/'.length)}\n\n${texts.join('\n')}`
}
