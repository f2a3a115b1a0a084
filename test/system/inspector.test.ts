// The page of the inspector in Chromium: every view by keyboard, by the rules of accessibility, and with a hostile server.

import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import type { Browser, Page } from 'playwright-core'
import { nodeProgram, everything, root } from '../integration/support/programs.js'
import { type Servers, Spawned, configFile, inspectorOf } from '../integration/support/spawned.js'
import { HANG_MS, untilAnswered } from '../integration/support/waiting.js'
import { listening } from '../support/listening.js'
import { type Scope, suiteScope } from '../support/scope.js'
import { noBrowser, openBrowser, watch } from './support/chromium.js'

const scope = suiteScope()

/** A proxy with `--ui`. */
interface Inspected {
  /** With the key. */
  readonly address: string
  readonly origin: string
  readonly process: Spawned
  connect(name: string): Promise<Client>
}

async function startInspected(servers: Servers): Promise<Inspected> {
  const config = configFile(scope, servers)
  const args = [
    join(root, 'dist/cli.js'),
    'http',
    '--ui',
    '--port',
    '0',
    '--no-kept-lists',
    '--config',
    config,
  ]
  const process = new Spawned(globalThis.process.execPath, args)
  scope.after(() => process.kill())
  const address = await inspectorOf(process)
  const { origin } = new URL(address)
  return {
    address,
    origin,
    process,
    connect: async (name) => {
      const client = new Client({ name, version: '1' })
      await client.connect(new StreamableHTTPClientTransport(new URL('/mcp', origin)))
      scope.after(() => client.close())
      return client
    },
  }
}

const views = ['wire', 'frame', 'servers', 'usage', 'clients', 'export'] as const
const axe = noBrowser === false ? readFileSync(join(root, 'node_modules/axe-core/axe.min.js'), 'utf8') : ''

describe('the page of the inspector', { skip: noBrowser }, () => {
  let browser: Browser
  let proxy: Inspected

  before(async () => {
    browser = await openBrowser()
    proxy = await startInspected({ everything, hostile: nodeProgram('small.mjs hostile') })
    const client = await proxy.connect('before')
    const isThere = async (wanted: string): Promise<boolean> =>
      (await client.listTools()).tools.some(({ name }) => name === wanted)
    for (const wanted of ['everything__echo', 'hostile__t0']) await untilAnswered(() => isThere(wanted))
  })
  after(() => browser.close())

  async function open(
    t: Scope,
    address = proxy.address,
    colorScheme: 'dark' | 'light' = 'light',
  ): Promise<Page> {
    const page = await browser.newPage({ colorScheme, reducedMotion: 'reduce' })
    t.after(() => page.close())
    page.setDefaultTimeout(HANG_MS)
    await page.goto(address)
    return page
  }

  /** Two clients that call the same tool. */
  async function talk(): Promise<void> {
    const clients = await Promise.all(['first', 'second'].map((name) => proxy.connect(name)))
    for (const client of clients) {
      await client.listTools()
      await client.callTool({ name: 'everything__echo', arguments: { message: 'hi', n: '9007199254740993' } })
    }
  }

  test('shows messages of two clients, and their edits, by keyboard alone', async (t) => {
    const page = await open(t)
    await page.getByRole('grid').waitFor()
    await talk()
    const row = page.getByRole('row', { name: /second → proxy.*tools\/call everything__echo/ })
    await row.waitFor()
    await tabTo(page, 'Text')
    await page.keyboard.type('everything')
    await page.getByText(/shown/).first().waitFor()
    await tabTo(page, 'Frames. Enter opens a frame, space selects it for export.')
    await page.keyboard.press('End')
    while (!(await activeText(page)).includes('±name')) await page.keyboard.press('ArrowUp')
    await page.keyboard.press('Space')
    await page.getByText('1 selected').first().waitFor()
    await page.keyboard.press('Enter')
    await page.getByRole('tree', { name: /^Left/ }).waitFor()
    assert.match(
      await page.getByRole('region', { name: 'Came in' }).innerText(),
      /−name\s+"everything__echo"/,
    )
    assert.match(await page.getByRole('region', { name: 'Left' }).innerText(), /\+name\s+"echo"/)
    await tabTo(page, 'Left, as a tree. Right and left open and fold.')
    const before = await page.getByRole('treeitem').count()
    await page.keyboard.press('ArrowLeft')
    assert((await page.getByRole('treeitem').count()) < before)
    await page.keyboard.press('ArrowRight')
    assert.equal(await page.getByRole('treeitem').count(), before)
  })

  test('holds thousands of messages with few rows in the document, and says how many there are', async (t) => {
    const page = await open(t)
    await page.getByRole('grid').waitFor()
    const client = await proxy.connect('busy')
    const call = (): Promise<unknown> =>
      client.callTool({ name: 'everything__echo', arguments: { message: 'm' } })
    for (let n = 0; n < 20; n++) await Promise.all(Array.from({ length: 40 }, call))
    // A page that opens later gets the newest frames first, and then the older ones.
    for (const each of [page, await open(t)]) {
      await each
        .getByRole('status')
        .getByText(/^[3-9],\d{3} frames/)
        .waitFor()
      assert((await each.getByRole('row').count()) < 150)
    }
  })

  test('restarts a server by keyboard, after a question', async (t) => {
    const page = await open(t)
    await tabTo(page, 'Servers')
    await page.keyboard.press('Enter')
    const line = page.getByRole('row', { name: /^everything/ })
    await line.getByText('connected').waitFor()
    const pid = await line.getByRole('cell').nth(4).innerText()
    await tabTo(page, 'Restart everything')
    await page.keyboard.press('Enter')
    await page.getByText('Restart everything?').waitFor()
    await page.keyboard.press('Tab')
    await page.keyboard.press('Enter')
    await page.getByText('restart everything: done').waitFor()
    // The page forbids to evaluate text, as a wait for a function does.
    await page.getByRole('cell', { name: pid, exact: true }).first().waitFor({ state: 'detached' })
  })

  test('shows usage and clients, and exports what is selected', async (t) => {
    const page = await open(t)
    await talk()
    const row = page.getByRole('row', { name: /proxy → everything.*tools\/call echo/ })
    await row.first().waitFor()
    await page.getByRole('grid').focus()
    for (const key of ['End', 'Space', 'ArrowUp', 'Space']) await page.keyboard.press(key)
    for (const [view, name] of [
      ['Usage', /^everything__echo/],
      ['Clients', /^second/],
    ] as const) {
      await tabTo(page, view)
      await page.keyboard.press('Enter')
      await page.getByRole('row', { name }).first().waitFor()
    }
    const called = page.getByRole('row', { name: /^second/ }).first()
    await called.getByText(/^\d+ calls$/).click()
    await called.getByText(/^everything__echo: \d+$/).waitFor()
    await tabTo(page, 'Export')
    await page.keyboard.press('Enter')
    await tabTo(page, 'Selected rows (2)')
    const [file] = await Promise.all([page.waitForEvent('download'), page.keyboard.press('Enter')])
    const lines = readFileSync(await file.path(), 'utf8')
      .trim()
      .split('\n')
    assert.deepEqual([lines.length, lines[0]?.slice(0, 24)], [3, '{"mcps":1,"recorded":tru'])
  })

  for (const colorScheme of ['light', 'dark'] as const)
    test(`breaks no rule of accessibility: ${colorScheme}`, async (t) => {
      const page = await open(t, proxy.address, colorScheme)
      await talk()
      await page
        .getByRole('row', { name: /tools\/call everything__echo/ })
        .first()
        .waitFor()
      for (const view of views) {
        await page.goto(`${proxy.origin}/ui/#/${view}`)
        await page.getByRole('region').first().waitFor()
        if (view === 'frame') await page.getByRole('tree').first().waitFor()
        await page.evaluate(axe)
        const { violations } = await page.evaluate<{
          violations: { id: string; nodes: { html: string }[] }[]
        }>('axe.run()')
        assert.deepEqual(
          violations.map(
            ({ id, nodes }) => `${view} ${id}: ${nodes.map(({ html }) => html.slice(0, 200)).join(' ')}`,
          ),
          [],
        )
      }
    })

  test('shows what a hostile server says as text, and asks nobody else for anything', async (t) => {
    const page = await open(t)
    const watched = watch(page)
    await page.getByRole('grid').waitFor()
    const client = await proxy.connect('<b onclick=alert(9)>')
    await client.listTools()
    for (const name of ['hostile__t0', 'hostile__long']) await client.callTool({ name, arguments: {} })
    const rows = page.getByRole('row', { name: /hostile → proxy/ })
    await rows.last().waitFor()
    for (const filter of ['hostile__t0', 'hostile__long', 'tools/list']) {
      await page.goto(`${proxy.origin}/ui/#/wire`)
      await page.getByLabel('Text').fill(filter)
      const row = page.getByRole('row', { name: new RegExp(filter) }).last()
      const bytes = page
        .getByRole('region', { name: 'Left' })
        .or(page.getByRole('region', { name: 'Came in' }))
        .first()
      // The rows are drawn anew when the filter applies, which may be under the click.
      do await row.click()
      while (
        !(await bytes.waitFor({ timeout: 5000 }).then(
          () => true,
          () => false,
        ))
      )
    }
    for (const [view, name] of [
      ['servers', /^hostile/],
      ['usage', /^hostile__long/],
      ['clients', /^<b onclick/],
    ] as const) {
      await page.goto(`${proxy.origin}/ui/#/${view}`)
      await page.getByRole('row', { name }).first().waitFor()
    }
    assert.deepEqual(watched.troubles, [])
    const found = watched.requests.filter((url) => !url.startsWith(`${proxy.origin}/ui/`))
    assert.deepEqual(found, [])
  })

  test('is nothing without its key, from another origin, and in a frame', async (t) => {
    const page = await open(t, `${proxy.origin}/ui/#key=${'x'.repeat(43)}`)
    await page.getByText('The key of the inspector is required').waitFor()
    const other = createServer((_request, response) => {
      response.setHeader('content-type', 'text/html')
      response.end(`<iframe src="${proxy.origin}/ui/"></iframe>`)
    })
    const port = await listening(scope, other)
    await page.goto(`http://127.0.0.1:${port}/`)
    assert.equal(await page.frames()[1]?.evaluate(`document.getElementById('app') === null`), true)
    const said = await page.evaluate<string>(
      `fetch('${proxy.origin}/ui/status', { headers: { authorization: 'Bearer x' } }).then(String, String)`,
    )
    assert.match(said, /Failed to fetch/)
  })
})

/** Presses Tab until the element with this name has the focus. */
async function tabTo(page: Page, name: string): Promise<void> {
  const script = `(() => {
    const at = document.activeElement
    return at?.getAttribute('aria-label') ?? at?.closest('label')?.innerText?.trim() ?? at?.textContent ?? ''
  })()`
  for (let presses = 0; presses < 60; presses++) {
    if ((await page.evaluate<string>(script)).startsWith(name)) return
    await page.keyboard.press('Tab')
  }
  assert.fail(`no Tab leads to ${name}`)
}

/** The text of the row that the keys have reached. */
function activeText(page: Page): Promise<string> {
  return page.evaluate<string>(`
    document.getElementById(document.querySelector('[aria-activedescendant]')?.getAttribute('aria-activedescendant') ?? '')?.textContent ?? ''`)
}
