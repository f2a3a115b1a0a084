// The first lists of tools that clients by other authors get of servers by other authors.
//
// usage: node test/clients/main.mjs [CLIENT...]
//        node test/clients/main.mjs --install        only brings their packages here, some 700
//
// Each client lists once, right after it has connected, on a machine on which the proxy has never run, and then once
// more. One more server takes two seconds to answer `initialize`. How many tools there are depends on the client, since
// servers have some only for clients that can be asked: each starts them directly, too.

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { text } from 'node:stream/consumers'

const home = import.meta.dirname
const root = resolve(home, '../..')
const cli = join(root, 'dist/cli.js')
// Within the time that every client waits.
const SLOW_MS = 2000
const RUN_MS = 120_000

/** Tools that can only be called as tasks; the proxy lists them to clients whose revision has tasks. */
const TASKS_ONLY = 1

const names = [
  'AI SDK',
  'LangChain',
  'mcp-use',
  'Mastra',
  'OpenAI Agents',
  'official SDK 1',
  'official SDK 2',
]

async function run(command, args, options = {}) {
  const child = spawn(command, args, { timeout: RUN_MS, stdio: ['ignore', 'pipe', 'pipe'], ...options })
  const [said, complained] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')])
  return { code: child.exitCode, said, complained }
}

/** Whether what is installed is what the folder pins. */
async function isInstalled() {
  const { dependencies } = JSON.parse(await readFile(join(home, 'package.json'), 'utf8'))
  const versions = Object.entries(dependencies).map(async ([name, version]) => {
    const path = join(home, 'node_modules', name, 'package.json')
    return existsSync(path) && JSON.parse(await readFile(path, 'utf8')).version === version
  })
  return (await Promise.all(versions)).every(Boolean)
}

async function install() {
  if (await isInstalled()) return
  console.log('installing in test/clients: some 700 packages, 1 GB')
  // `npm ci` refuses the lock file, since the registry lacks some packages that are for other systems.
  const args = ['install', '--prefix', home, '--no-save', '--ignore-scripts', '--no-audit', '--no-fund']
  const { code, complained } = await run('npm', args, { cwd: home, timeout: 10 * RUN_MS })
  if (code !== 0) throw new Error(`they cannot be installed: ${complained}`)
}

/** A server of the packages of the root. */
const server = (name, args = [], env = {}) => ({
  command: process.execPath,
  args: [join(root, 'node_modules/@modelcontextprotocol', `server-${name}`, 'dist/index.js'), ...args],
  env,
})

const servers = (folder) => ({
  everything: server('everything', ['stdio']),
  filesystem: server('filesystem', [folder]),
  memory: server('memory', [], { MEMORY_FILE_PATH: join(folder, 'memory.json') }),
  slow: {
    command: process.execPath,
    args: [join(root, 'test/programs/small.mjs'), 'late', String(SLOW_MS)],
    env: {},
  },
})

/** The environment of a user who has nothing but PATH, and a new home folder. */
const environment = (folder) => ({ PATH: process.env.PATH, HOME: folder, DO_NOT_TRACK: '1' })

/** One client with one program: what it said of its first list, or why it has none. */
async function list(client, folder, program) {
  const args = [join(home, 'clients.mjs'), client, ...program]
  const { said } = await run(process.execPath, args, { cwd: folder, env: environment(folder) })
  const [last = ''] = said.trim().split('\n').slice(-1)
  return /^\{"tools":\d+,"ms":\d+\}$|^\{"error":/.test(last) ? JSON.parse(last) : { error: 'it said nothing' }
}

/** A server of a configuration as a program that a client starts. */
const started = ({ command, args, env }) => [
  '/usr/bin/env',
  ...Object.entries(env).map(([variable, value]) => `${variable}=${value}`),
  command,
  ...args,
]

/** Runs `task` for each item, for so many at a time. */
async function forEach(items, atOnce, task) {
  const left = [...items]
  const some = async () => {
    for (let next = left.shift(); next !== undefined; next = left.shift()) await task(next)
  }
  await Promise.all(Array.from({ length: atOnce }, some))
}

/** How many tools all servers have for this client, which starts them directly. */
async function directly(client, folder, all) {
  let sum = 0
  await forEach(Object.entries(all), 3, async ([name, server]) => {
    const first = await list(client, folder, started(server))
    // A busy machine takes longer than some clients wait.
    const { tools, error } = first.error === undefined ? first : await list(client, folder, started(server))
    if (error !== undefined) throw new Error(`${client} with ${name}: ${error}`)
    sum += tools
  })
  return sum
}

async function behindProxy(client, folder, config) {
  const program = [process.execPath, cli, '--stdio', '--config', config]
  const first = await list(client, folder, program)
  return { first, second: await list(client, folder, program) }
}

/** A machine on which nothing has ever run. */
async function fresh(folder, name) {
  const path = join(folder, name.replaceAll(' ', '-'))
  await mkdir(path)
  return path
}

const shown = ({ tools, ms, error }) => `${error ?? `${tools} tools`}, ${ms ?? '-'} ms`

async function main(folder, wanted) {
  await install()
  if (wanted[0] === '--install') return 0
  const { code, complained } = await run(process.execPath, [join(root, 'scripts/make.mjs'), 'dist'])
  if (code !== 0) throw new Error(complained)
  const all = servers(folder)
  const config = join(folder, 'config.json')
  await writeFile(config, JSON.stringify({ mcpServers: all }))

  const rows = Object.fromEntries(wanted.map((client) => [client, {}]))
  const missing = []
  await forEach(wanted, 2, async (client) => {
    const tools = await directly(client, await fresh(folder, `direct ${client}`), all)
    const isWhole = (list) => list.tools === tools || list.tools === tools - TASKS_ONLY
    const { first, second } = await behindProxy(client, await fresh(folder, client), config)
    rows[client] = { directly: `${tools} tools`, 'first start': shown(first), 'second start': shown(second) }
    if (!isWhole(first) || !isWhole(second)) missing.push(client)
  })
  console.table(rows)
  console.log(missing.length === 0 ? '\neach sees every tool' : `\nnot every tool: ${missing.join(', ')}`)
  return missing.length === 0 ? 0 : 1
}

const folder = await mkdtemp(join(tmpdir(), 'clients-'))
try {
  const wanted = process.argv.slice(2)
  process.exitCode = await main(folder, wanted.length > 0 ? wanted : names)
} finally {
  await rm(folder, { recursive: true, force: true, maxRetries: 5 })
}
