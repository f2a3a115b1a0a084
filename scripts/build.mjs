// Bundles the program: a process that is started by every client on every start
// should not open a hundred files. Types come from the compiler.

import { chmod, rm } from 'node:fs/promises'
import { build } from 'esbuild'

await rm('dist', { recursive: true, force: true })
await build({
  entryPoints: ['src/cli.ts', 'src/index.ts', 'src/jsonrpc/index.ts', 'src/servers/time.ts'],
  outdir: 'dist',
  outbase: 'src',
  bundle: true,
  splitting: true,
  packages: 'external',
  platform: 'node',
  format: 'esm',
  target: 'node20.19',
  logLevel: 'warning',
})
await chmod('dist/cli.js', 0o755)
