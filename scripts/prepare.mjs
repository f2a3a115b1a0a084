// Builds the program when the package is installed from a checkout.
//
// `npm install --global .` links to the checkout and runs this before anything is installed there: what the build needs is
// installed first then, as the lockfile says it.

import { spawnSync } from 'node:child_process'
import { createRequire } from 'node:module'
import process from 'node:process'

/** `npm` that runs this says where it is; its own settings for a global installation are not meant for the checkout. */
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

// Without scripts, since this one would be among them.
if (!['esbuild', 'typescript', 'mri'].every(isInstalled)) npm('ci', '--ignore-scripts')
npm('run', 'build')
