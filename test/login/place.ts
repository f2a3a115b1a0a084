// The logins of a user, and a browser, for tests of logins.

import { appendFileSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { homeOf, ownPath } from '../../src/config/file.js'
import { LoginStore } from '../../src/login/login-store.js'
import type { RealRuntime } from '../../src/real-runtime.js'
import { browse } from './authorization-server.js'

/** The environment of a machine on which no browser opens by itself. */
export const noBrowserEnv = { ...process.env, BROWSER: '', CI: 'true' }

/** The logins in the home folder of the tests; `user` is one user of a gateway. */
export function storeAtHome(runtime: RealRuntime, user?: string): LoginStore {
  return new LoginStore(ownPath(homeOf(process.env), 'auth'), runtime, user)
}

/** Follows every redirect. */
export const quickPerson = { show: async (page: string): Promise<void> => void browse(page) }

/** A program for `$BROWSER`, which notes its arguments and then runs these lines of a module. */
export class TestBrowser {
  readonly path: string
  readonly #seen: string

  constructor(folder: string, follows = 'await fetch(process.argv[2])') {
    this.path = join(folder, 'browser.mjs')
    this.#seen = join(folder, 'seen')
    appendFileSync(this.#seen, '')
    const note = `appendFileSync('${this.#seen}', JSON.stringify(process.argv.slice(2)) + '\\n')`
    const lines = [
      `#!${process.execPath}`,
      `import { appendFileSync, existsSync } from 'node:fs'`,
      note,
      follows,
    ]
    writeFileSync(this.path, lines.join('\n'), { mode: 0o755 })
  }

  /** The arguments of each start. */
  get starts(): string[][] {
    const lines = readFileSync(this.#seen, 'utf8').split('\n').slice(0, -1)
    return lines.map((line): string[] => JSON.parse(line))
  }

  /** The address of each start. */
  get tabs(): string[] {
    return this.starts.map(([address = '']) => address)
  }
}
