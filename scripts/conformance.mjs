// Runs the official conformance suite through the proxy. A check that passes directly must pass behind it.
//
// usage: node scripts/conformance.mjs [COMMAND]         COMMAND is `dist/cli.js` by default
//        node scripts/conformance.mjs --install         only installs the suite
//
// The suite needs Node 22, and the proxy must run on the Node of the machine. So this script installs the suite and
// its Node in test/conformance: every npm script would run on a `node` in node_modules/.bin of the root.

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, readFile, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout } from 'node:timers/promises'

const root = resolve(import.meta.dirname, '..')
const home = resolve(root, 'test/conformance')
const [command = resolve(root, 'dist/cli.js')] = process.argv.slice(2)
const cli = resolve(command)
const program = (name) => resolve(root, 'test/programs', name)
const reference = program('reference.mjs')
const stateless = program('reference-stateless.mjs')

const revision = '2025-11-25'
const newest = '2026-07-28'
const oldest = '2025-03-26'
const suiteMajor = 22
/** The longest time of one run of the suite, of the start of a program, and of one client. */
const runMs = 300_000
const startMs = 60_000
const clientMs = 90_000
/** Client scenarios that run together. Each starts a program of the suite, a client, a proxy and a browser. */
const clientsMax = 2

/** Client scenarios that the proxy passes although the suite does not require them. */
const alsoPassed = [
  'json-schema-2020-12-preservation',
  'auth/client-credentials-jwt',
  'auth/client-credentials-basic',
  'auth/wif-jwt-bearer',
  'auth/enterprise-managed-authorization',
]

/** Servers of 2025-03-26 have no resource metadata, and may have no metadata at all. */
const oldLogins = ['auth/2025-03-26-oauth-metadata-backcompat', 'auth/2025-03-26-oauth-endpoint-fallback']

/** Runs of our client: `speaks` is its revision, and `server` the revision of the suite's servers. */
const clientRuns = [
  { name: 'client', speaks: revision, server: revision, scenarios: () => clientScenarios(revision) },
  {
    name: 'new client, new servers',
    speaks: newest,
    server: newest,
    scenarios: () => clientScenarios(newest),
  },
  {
    name: 'old client, new servers',
    speaks: revision,
    server: newest,
    scenarios: async () => (await clientScenarios(newest)).filter((name) => !name.startsWith('auth/')),
  },
  { name: 'client, old logins', speaks: revision, server: oldest, scenarios: async () => oldLogins },
]

async function clientScenarios(version) {
  return [...(await required(version, 'client')), ...alsoPassed]
}

/**
 * Combinations of client and server revisions. The proxy must pass all checks that the client's revision requires,
 * except checks that an older server cannot pass. Two of these expect names of questions, and answers in a first
 * request, that only the newest revision has. Two others ask for roots, which the proxy declares to an older server
 * only for a process of one client; clients over HTTP without a token may be several.
 */
const cells = [
  { name: 'new client, new server', front: newest, server: stateless, except: [] },
  { name: 'old client, new server', front: revision, server: stateless, except: [] },
  {
    name: 'new client, old server',
    front: newest,
    server: reference,
    except: [
      'sep-2322-elicitation-incomplete',
      'sep-2322-ignore-unexpected-params',
      'input-required-result-basic-list-roots',
      'input-required-result-multiple-input-requests',
    ],
  },
]

const children = new Set()

function start(command, args, options = {}) {
  const child = spawn(command, args, { cwd: root, stdio: ['ignore', 'pipe', 'pipe'], ...options })
  children.add(child)
  child.on('error', () => undefined)
  child.on('close', () => children.delete(child))
  return child
}

/** Runs a program to its end, and returns its exit code and output. */
async function run(command, args, timeout, options = {}) {
  const child = start(command, args, { timeout, killSignal: 'SIGKILL', ...options })
  let said = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (said += chunk))
  const [code] = await once(child, 'close')
  return { code, said }
}

/** Starts a program that listens, and resolves with the first address in its output. */
async function listening(args) {
  const child = start(process.execPath, args)
  let said = ''
  const found = new Promise((found, failed) => {
    const late = globalThis.setTimeout(
      () => failed(new Error(`${args[0]} does not listen: ${said}`)),
      startMs,
    )
    const done = (settle, value) => {
      clearTimeout(late)
      settle(value)
    }
    child.on('close', (code) => done(failed, new Error(`${args[0]} ended with ${code}: ${said}`)))
    for (const input of [child.stdout, child.stderr])
      createInterface({ input }).on('line', (line) => {
        said += `${line}\n`
        const [url] = /http:\/\/127\.0\.0\.1:\d+\/mcp/.exec(line) ?? []
        if (url !== undefined) done(found, url)
      })
  })
  return { url: await found, stop: () => stop(child) }
}

async function stop(child) {
  if (child.exitCode !== null || child.signalCode !== null) return
  const closed = once(child, 'close')
  child.kill()
  const late = globalThis.setTimeout(() => child.kill('SIGKILL'), 5000)
  await closed
  clearTimeout(late)
}

const json = async (path) => JSON.parse(await readFile(path, 'utf8'))

async function isInstalled() {
  const pinned = Object.entries((await json(join(home, 'package.json'))).dependencies)
  const versions = pinned.map(async ([name, version]) => {
    const path = join(home, 'node_modules', name, 'package.json')
    return existsSync(path) && (await json(path)).version === version
  })
  return (await Promise.all(versions)).every(Boolean)
}

async function install() {
  if (await isInstalled()) return
  console.log('installing the suite in test/conformance')
  const args = ['ci', '--prefix', home, '--ignore-scripts', '--no-audit', '--no-fund']
  const { code, said } = await run('npm', args, runMs, { cwd: home })
  if (code !== 0) throw new Error(`the suite cannot be installed: ${said}`)
}

/** Returns the Node of the machine if it is new enough, else the pinned one, which exists for Linux. */
function suiteNode() {
  if (Number.parseInt(process.versions.node, 10) >= suiteMajor) return process.execPath
  const path = join(home, `node_modules/node-${process.platform}-${process.arch}/bin/node`)
  if (existsSync(path)) return path
  throw new Error(`the suite needs Node ${suiteMajor} or later, and none is pinned for this machine`)
}

const suiteHome = join(home, 'node_modules/@modelcontextprotocol/conformance')

/** Runs the suite, and returns the checks by the names of scenarios. */
async function checksOf(folder, args) {
  const { said } = await run(suiteNode(), [join(suiteHome, 'dist/index.js'), ...args, '-o', folder], runMs)
  const found = new Map()
  for (const path of await readdir(folder, { recursive: true }).catch(() => [])) {
    if (!path.endsWith('/checks.json')) continue
    const name = dirname(path)
    const [, scenario] = /^(?:server-)?(.+?)-\d{4}-\d\d-\d\dT[\d-]+Z$/.exec(name) ?? []
    if (scenario !== undefined) found.set(scenario, await json(join(folder, name, 'checks.json')))
  }
  if (found.size === 0) throw new Error(`the suite ran nothing: ${said}`)
  return found
}

/** Returns the required scenarios. The suite runs a few more. */
async function required(version = revision, role = 'server') {
  const text = await readFile(join(suiteHome, `requirements/${version}.yaml`), 'utf8')
  const [, list = ''] = new RegExp(`^${role}:\\n((?: {2}- .+\\n)+)`, 'm').exec(text) ?? []
  return list.split('\n').flatMap((line) => (line === '' ? [] : [line.slice('  - '.length)]))
}

const serverChecks = (folder, url, version = revision) =>
  checksOf(folder, ['server', '--url', url, '--requirements', version])

/** Runs the suite against the proxy with one server. */
async function proxied(folder, server, version = revision) {
  const config = `${folder}.json`
  const entry = { ...server, prefix: false, describe: false }
  await writeFile(config, JSON.stringify({ mcpServers: { reference: entry } }))
  const { url, stop: end } = await listening([
    cli,
    '--http',
    '--port',
    '0',
    '--no-kept-lists',
    '--config',
    config,
  ])
  try {
    return await serverChecks(folder, url, version)
  } finally {
    await end()
  }
}

async function clientChecks(folder, { speaks, server }, names) {
  const command = [process.execPath, program('conformance-client.mjs'), cli, speaks]
    .map((part) => JSON.stringify(part))
    .join(' ')
  const found = new Map()
  const waiting = [...names]
  const runSome = async () => {
    for (let scenario = waiting.shift(); scenario !== undefined; scenario = waiting.shift()) {
      const into = join(folder, scenario)
      const args = [
        'client',
        '--command',
        command,
        '--scenario',
        scenario,
        '--force',
        '--spec-version',
        server,
      ]
      await mkdir(into, { recursive: true })
      for (const [, checks] of await checksOf(into, [...args, '--timeout', `${clientMs}`]))
        found.set(scenario, checks)
    }
  }
  await Promise.all(Array.from({ length: clientsMax }, runSome))
  return found
}

const all = (runs, names) => names.flatMap((name) => runs.get(name) ?? [])
const passed = (checks) => checks.filter(({ status }) => status === 'SUCCESS')
const wrong = (checks) => checks.filter(({ status }) => status === 'FAILURE' || status === 'WARNING')

function counts(checks) {
  const counted = checks.filter(({ status }) => status === 'SUCCESS' || status === 'FAILURE')
  return `${passed(checks).length}/${counted.length}`
}

/** Returns the checks that pass directly but not behind the proxy, with their result behind the proxy. */
const lost = (direct, behind) =>
  passed(direct)
    .filter(({ id }) => !passed(behind).some((check) => check.id === id))
    .map(({ id }) => behind.find((check) => check.id === id) ?? { id, status: 'MISSING' })

function print(rows) {
  const widths = rows[0].map((_, at) => Math.max(...rows.map((row) => row[at].length)))
  for (const row of rows)
    console.log(
      row
        .map((cell, at) => cell.padEnd(widths[at]))
        .join('  ')
        .trimEnd(),
    )
}

function tabulate(title, runs, names) {
  const columns = Object.values(runs)
  const line = (title, names) => [title, ...columns.map((run) => counts(all(run, names)))]
  print([[title, ...Object.keys(runs)], ...names.map((name) => line(name, [name])), line('all', names)])
  console.log()
}

/** Runs the suite against a proxy and a server of the revisions of one cell, and returns the problems. */
async function cellProblems(folder, { name, front, server, except }, at) {
  const command = { command: process.execPath, args: [server] }
  const run = await proxied(join(folder, `cell-${at}`), command, front)
  const scored = await required(front)
  tabulate(`${name}, required by ${front}`, { stdio: run }, scored)
  const unexpected = ({ id }) => !except.includes(id)
  const expected = scored.filter((scenario) => !except.includes(scenario))
  return expected.flatMap((scenario) =>
    run.has(scenario)
      ? named(`${name}: ${scenario}`, wrong(all(run, [scenario])).filter(unexpected))
      : [`${name}: ${scenario}: did not run`],
  )
}

/** Runs our client through the proxy against the suite's servers, and returns the problems. */
async function clientProblems(folder, run, at) {
  const names = await run.scenarios()
  const found = await clientChecks(join(folder, `client-${at}`), run, names)
  tabulate(`${run.name}, of ${run.server}`, { proxy: found }, names)
  const scored = names.filter((name) => !alsoPassed.includes(name))
  const right = scored.filter((name) => found.has(name) && wrong(found.get(name)).length === 0)
  console.log(`${run.name}: ${right.length} of ${scored.length} scenarios\n`)
  return names.flatMap((name) =>
    found.has(name)
      ? named(`${run.name}: ${name}`, wrong(all(found, [name])))
      : [`${run.name}: ${name}: did not run`],
  )
}

/** Runs the suite against the reference server and against proxies, and returns the problems. */
async function serverProblems(folder) {
  const { url, stop: end } = await listening([reference, '--http', '0'])
  const direct = await serverChecks(join(folder, 'direct'), url)
  const behind = {
    stdio: await proxied(join(folder, 'stdio'), { command: process.execPath, args: [reference] }),
    http: await proxied(join(folder, 'http'), { type: 'http', url }),
  }
  await end()
  const scored = await required()
  const others = [...direct.keys()].filter((name) => !scored.includes(name))
  tabulate(`server, required by ${revision}`, { direct, ...behind }, scored)
  tabulate('server, not scored', { direct, ...behind }, others)
  return [
    ...scored.flatMap((name) => named(`direct: ${name}`, wrong(all(direct, [name])))),
    ...scored.filter((name) => !direct.has(name)).map((name) => `direct: ${name}: did not run`),
    ...Object.entries(behind).flatMap(([way, run]) =>
      [...direct].flatMap(([name, checks]) => named(`${way}: ${name}`, lost(checks, all(run, [name])))),
    ),
  ]
}

/** Runs several runs one after another, and returns their problems. */
async function inTurn(folder, runs, problemsOf) {
  const problems = []
  for (const [at, run] of runs.entries()) problems.push(...(await problemsOf(folder, run, at)))
  return problems
}

async function main(folder) {
  await install()
  if (command === '--install') return 0
  const clients = async () => [
    ...(await inTurn(folder, clientRuns, clientProblems)),
    ...(await providerProblems(folder)),
  ]
  // These two run together, because their scenarios mostly wait. The scenarios of the cells measure time.
  const problems = (await Promise.all([serverProblems(folder), clients()])).flat()
  return report([...problems, ...(await inTurn(folder, cells, cellProblems))])
}

function report(problems) {
  console.log(problems.length === 0 ? 'what passes directly passes behind the proxy' : problems.join('\n'))
  return problems.length === 0 ? 0 : 1
}

/** Runs two proxies that share a login at the authorization server `oidc-provider`, and returns the problems. */
async function providerProblems(folder) {
  const server = start(suiteNode(), [join(home, 'oidc-server.mjs')])
  const events = []
  const lines = createInterface({ input: server.stdout })
  const url = await new Promise((resolve, reject) => {
    server.on('close', () => reject(new Error('oidc-provider does not start')))
    lines.on('line', (line) => (line.startsWith('http') ? resolve(line) : events.push(line)))
  })
  const place = join(folder, 'provider')
  await mkdir(place)
  const config = join(place, 'mcp.json')
  const client = { grant: 'client_credentials', clientId: 'service', clientSecret: 'of-the-service' }
  const servers = { person: { url }, service: { url, auth: { type: 'oauth', ...client } } }
  await writeFile(config, JSON.stringify({ mcpServers: servers }))
  const env = { ...process.env, HOME: place, BROWSER: program('browser.mjs') }
  const proxies = [1, 2].map(() => speaking([cli, 'stdio', '--silent', '--config', config], env))
  const [first] = proxies
  const counts = (word) => events.filter((each) => each.startsWith(word)).length
  const results = []
  const check = async (id, isRight) => results.push({ id, status: (await isRight()) ? 'SUCCESS' : 'FAILURE' })
  await Promise.all(proxies.map((proxy) => proxy.open()))
  await check('one login for two proxies', async () => {
    const answers = await Promise.all(proxies.map((proxy) => proxy.call('person__read')))
    return answers.every(Boolean) && counts('grant authorization_code') === 1
  })
  await check('client_credentials', () => first.call('service__read'))
  await check('one refresh for two proxies', async () => {
    const before = counts('grant refresh_token')
    await fetch(new URL('/expire', url))
    const answers = await Promise.all(proxies.map((proxy) => proxy.call('person__read')))
    return answers.every(Boolean) && counts('grant refresh_token') === before + 1
  })
  await check('step-up', () => first.call('person__write'))
  await check('rotation: no refresh token is used twice', () => counts('revoked') + counts('refusal') === 0)
  await check('revocation', async () => {
    const { code } = await run(process.execPath, [cli, 'logout', 'person', '--config', config], startMs, {
      env,
    })
    return code === 0 && counts('revoked') > 0
  })
  for (const proxy of proxies) await proxy.end()
  await stop(server)
  tabulate(
    'logins at oidc-provider',
    { proxies: new Map(results.map((each) => [each.id, [each]])) },
    results.map(({ id }) => id),
  )
  return named('oidc-provider', wrong(results))
}

/** Starts a proxy with a client of 2025-11-25, which repeats a call until the person has logged in. */
function speaking(args, env) {
  const child = start(process.execPath, args, { env, stdio: ['pipe', 'pipe', 'inherit'] })
  const waiting = new Map()
  createInterface({ input: child.stdout }).on('line', (line) => {
    const { id, ...answer } = JSON.parse(line)
    waiting.get(id)?.(answer)
  })
  let last = 0
  const request = (method, params) => {
    const id = ++last
    child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', id, method, params })}\n`)
    return new Promise((resolve) => waiting.set(id, resolve))
  }
  return {
    open: () =>
      request('initialize', {
        protocolVersion: revision,
        capabilities: {},
        clientInfo: { name: 'c', version: '1' },
      }),
    /** Resolves with whether the call succeeds in the end. */
    call: async (name) => {
      for (const end = Date.now() + clientMs; Date.now() < end; await setTimeout(200)) {
        const { error } = await request('tools/call', { name, arguments: {} })
        if (error === undefined) return true
        if (error.data?.reason !== 'login-required' && !error.message.includes('is starting')) {
          console.log(`${name}: ${error.message}`)
          return false
        }
      }
      return false
    },
    end: () => stop(child),
  }
}

function named(where, checks) {
  return checks.map(
    ({ id, status, errorMessage, details }) =>
      `${where}: ${id}: ${status} ${errorMessage ?? JSON.stringify(details) ?? ''}`,
  )
}

const folder = await mkdtemp(join(tmpdir(), 'conformance-'))
try {
  process.exitCode = await main(folder)
} finally {
  await Promise.all([...children].map(stop))
  // A program may write one more file while it exits.
  await rm(folder, { recursive: true, force: true, maxRetries: 10 })
}
