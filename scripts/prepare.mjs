// Builds the program when the package is installed from a checkout.
//
// `npm install --global .` links to the checkout, and runs this script before the checkout has its packages.
// Then this script first installs the packages of the lockfile.

import { spawnSync } from 'node:child_process'
import { createRequire } from 'node:module'
import process from 'node:process'

/** Runs the npm that has started this script, without its settings for a global installation. */
function npm(...args) {
  const {
    npm_execpath: path,
    npm_config_global: _global,
    npm_config_location: _location,
    ...env
  } = process.env
  const [command, first] = path === undefined ? ['npm', []] : [process.execPath, [path]]
  const { status, error } = spawnSync(command, [...first, ...args], { stdio: 'inherit', env })
  if (error !== undefined) throw error
  if (status !== 0) process.exit(status ?? 1)
}

function isInstalled(name) {
  try {
    createRequire(import.meta.url).resolve(`${name}/package.json`)
    return true
  } catch {
    return false
  }
}

// Without `--ignore-scripts`, npm would run this script again.
if (!['esbuild', 'typescript', 'mri'].every(isInstalled)) npm('ci', '--ignore-scripts')
npm('run', 'build')
