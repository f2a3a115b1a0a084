// A home folder for a test and the programs that it starts, instead of that of the user.

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'

/** Until this process ends, home is an empty folder. */
export function leaveHome(): void {
  const home = mkdtempSync(join(tmpdir(), 'mcps-home-'))
  process.env['HOME'] = home
  process.on('exit', () => rmSync(home, { recursive: true, force: true, maxRetries: 10 }))
}
