// Makes the pictures of the inspector in the documents: docs/inspector-wire.png, -frame and -servers.
//
// usage: npm run build && node scripts/screenshots.mjs        needs /usr/bin/chromium

import { spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { homedir, tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { chromium } from 'playwright-core'

const root = resolve(import.meta.dirname, '..')
const bytesMax = 150 * 1024
const folder = mkdtempSync(join(tmpdir(), 'screenshots-'))
const packaged = (path) => join(root, 'node_modules/@modelcontextprotocol', path)
const config = join(folder, 'config.json')
writeFileSync(
  config,
  JSON.stringify({
    mcpServers: {
      everything: { command: process.execPath, args: [packaged('server-everything/dist/index.js'), 'stdio'] },
      files: { command: process.execPath, args: [packaged('server-filesystem/dist/index.js'), folder] },
      memory: {
        command: process.execPath,
        args: [packaged('server-memory/dist/index.js')],
        env: { MEMORY_FILE_PATH: join(folder, 'memory.json') },
      },
      tickets: { command: 'tickets-mcp' },
    },
  }),
)

const proxy = spawn(
  process.execPath,
  [join(root, 'dist/cli.js'), 'http', '--ui', '--port', '0', '--no-kept-lists', '--config', config],
  { stdio: ['ignore', 'ignore', 'pipe'] },
)
const browser = await chromium.launch({
  executablePath: '/usr/bin/chromium',
  args: process.getuid?.() === 0 ? ['--no-sandbox'] : [],
})
try {
  await draw(await addressOf(proxy))
} finally {
  await browser.close()
  proxy.kill()
  rmSync(folder, { recursive: true, force: true })
}

/** Reads the address of the page in a file whose name is the process id, as `mcps-proxy status --ui` does. */
function addressOf({ pid, stderr }) {
  let text = ''
  return new Promise((found, failed) => {
    stderr.on('data', function read(chunk) {
      text += chunk
      if (!text.includes('inspector: ')) return
      stderr.off('data', read).resume()
      found(readFileSync(join(homedir(), '.mcps-proxy/ui', String(pid)), 'utf8'))
    })
    stderr.on('end', () => failed(new Error(text)))
  })
}

async function draw(address) {
  const { origin } = new URL(address)
  const page = await browser.newPage({ viewport: { width: 1160, height: 500 }, colorScheme: 'light' })
  await page.goto(address)
  await page.getByRole('grid').waitFor()
  for (const name of ['editor', 'assistant']) await work(name, new URL('/mcp', origin))
  await page
    .getByRole('row', { name: /assistant.*files__/ })
    .first()
    .waitFor()
  await shoot(page, 'wire')
  await page.getByLabel('Text').fill('hello')
  await page
    .getByRole('row', { name: /proxy → everything/ })
    .first()
    .click()
  await page.getByRole('tree').nth(1).waitFor()
  await shoot(page, 'frame')
  await page.goto(`${origin}/ui/#/servers`)
  await page.getByText('tickets-mcp').waitFor()
  await shoot(page, 'servers')
}

async function work(name, url) {
  const client = new Client({ name, version: '1.0.0' })
  await client.connect(new StreamableHTTPClientTransport(url))
  await client.listTools()
  const calls = [
    [
      'memory__create_entities',
      { entities: [{ name: 'Ada', entityType: 'person', observations: ['wrote'] }] },
    ],
    ['memory__read_graph', {}],
    ['everything__echo', { message: 'hello', api_key: 'sk-4711' }],
    ['files__list_directory', { path: folder }],
    ['files__read_text_file', { path: '/etc/shadow' }],
  ]
  for (const [tool, args] of calls) await client.callTool({ name: tool, arguments: args })
  await client.close()
}

async function shoot(page, name) {
  const path = join(root, 'docs', `inspector-${name}.png`)
  await page.screenshot({ path })
  const { size } = statSync(path)
  if (size > bytesMax) throw new Error(`${path} has ${size} bytes`)
  console.log(`${path}: ${size} bytes`)
}
