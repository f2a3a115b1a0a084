// Chromium of the system, without a window.

import { accessSync, constants } from 'node:fs'
import { type Browser, type Page, chromium } from 'playwright-core'

const executablePath = ['/usr/bin/chromium', '/usr/bin/chromium-browser'].find((path) => {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
})

/** Why there is no browser here; false where there is one. */
export const noBrowser: string | false =
  executablePath === undefined && 'chromium is not installed: node scripts/system-programs.mjs'

export function openBrowser(): Promise<Browser> {
  return chromium.launch({
    ...(executablePath !== undefined && { executablePath }),
    // As root Chromium has no sandbox. Every page that it opens here belongs to the test.
    args: process.getuid?.() === 0 ? ['--no-sandbox'] : [],
  })
}

/** The requests of a page, and its complaints. */
export interface Watched {
  readonly requests: string[]
  readonly troubles: string[]
}

export function watch(page: Page): Watched {
  const watched: Watched = { requests: [], troubles: [] }
  page.on('request', (request) => watched.requests.push(request.url()))
  page.on('dialog', (dialog) => {
    watched.troubles.push(`dialog ${dialog.message()}`)
    void dialog.dismiss()
  })
  page.on('pageerror', (error) => watched.troubles.push(String(error)))
  page.on('console', (message) => {
    if (message.type() === 'error' || message.type() === 'warning') watched.troubles.push(message.text())
  })
  return watched
}
