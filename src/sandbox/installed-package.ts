// Packages that whoever needs them installs beside this one: whether they are there.

import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'

/** The folder of a package, where a module in `from` would find it; undefined when it is not installed. */
export function installedPackage(name: string, from: string): string | undefined {
  for (let folder = from, above = ''; folder !== above; above = folder, folder = dirname(folder)) {
    const found = join(folder, 'node_modules', name)
    if (existsSync(join(found, 'package.json'))) return found
  }
  return undefined
}
