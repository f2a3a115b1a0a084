// Fifteen servers that others wrote, which list their tools without a key that works and without a network.

import { readFileSync } from 'node:fs'
import { join } from 'node:path'

const modules = join(import.meta.dirname, 'node_modules')

/** The program of a package, as `npx` would find it. */
function program(name, command) {
  const folder = join(modules, name)
  const { bin } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
  return join(folder, typeof bin === 'string' ? bin : (bin[command] ?? Object.values(bin)[0]))
}

const node = (name, args = [], env = {}) => ({
  command: process.execPath,
  args: [program(name), ...args],
  env,
})

/** Looks like a key, and is none. */
const KEY = 'test-0123456789abcdef0123456789abcdef'

export const servers = (folder) => ({
  everything: node('@modelcontextprotocol/server-everything', ['stdio']),
  filesystem: node('@modelcontextprotocol/server-filesystem', [folder]),
  memory: node('@modelcontextprotocol/server-memory', [], { MEMORY_FILE_PATH: join(folder, 'memory.json') }),
  thinking: node('@modelcontextprotocol/server-sequential-thinking'),
  playwright: node('@playwright/mcp', ['--headless']),
  chrome: node('chrome-devtools-mcp', ['--headless', '--no-usage-statistics']),
  context7: node('@upstash/context7-mcp'),
  chart: node('@antv/mcp-server-chart'),
  calc: node('@coo-quack/calc-mcp'),
  notion: node('@notionhq/notion-mcp-server', [], { NOTION_TOKEN: KEY }),
  tavily: node('tavily-mcp', [], { TAVILY_API_KEY: KEY }),
  brave: node('@brave/brave-search-mcp-server', ['--transport', 'stdio'], { BRAVE_API_KEY: KEY }),
  figma: node('figma-developer-mcp', ['--stdio', `--figma-api-key=${KEY}`]),
  eslint: node('@eslint/mcp'),
  runner: node('mcp-server-code-runner'),
})
