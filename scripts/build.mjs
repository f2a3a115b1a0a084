// Bundles the program: a process that is started by every client on every start
// should not open a hundred files. Types come from the compiler.

import { chmod, rm } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'

/** Node makes all three standard streams for whoever imports its process as a module; as a global it makes those that are used. */
const globalProcess = {
  name: 'global-process',
  setup(build) {
    build.onResolve({ filter: /^node:process$/ }, ({ path }) => ({ path, namespace: 'global-process' }))
    build.onLoad({ filter: /.*/, namespace: 'global-process' }, () => ({
      contents: 'export default globalThis.process',
    }))
  },
}

/** The one package that a start needs besides mri is bundled: it would be two more files, one of them CommonJS. */
const bundledEvents = {
  name: 'bundled-events',
  setup(build) {
    const path = fileURLToPath(import.meta.resolve('eventemitter3'))
    build.onResolve({ filter: /^eventemitter3$/ }, () => ({ path }))
  },
}

await rm('dist', { recursive: true, force: true })
// What is built together shares its chunks: the command shares none with the library, so that it needs fewer of them.
for (const entryPoints of [['src/cli.ts'], ['src/index.ts', 'src/jsonrpc/index.ts'], ['src/servers/time.ts']])
  await build({
    entryPoints,
    outdir: 'dist',
    outbase: 'src',
    bundle: true,
    splitting: true,
    packages: 'external',
    platform: 'node',
    format: 'esm',
    target: 'node20.19',
    logLevel: 'warning',
    plugins: [globalProcess, bundledEvents],
  })
await chmod('dist/cli.js', 0o755)
