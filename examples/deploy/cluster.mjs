// Up to three instances of the gateway on one machine, behind HAProxy or nginx, until Ctrl-C.
//
// usage: node examples/deploy/cluster.mjs [OPTIONS]
//
//   --config FILE      the configuration of the instances; without it the file that MCPS_PROXY_CONFIG names
//   --instances N      1 to 3: a, b and c are their labels
//   --balancer NAME    haproxy, nginx or none: haproxy
//   --port N           the port of the balancer: 3095; 0 takes a free one
//   --store            with a redis-server that the instances share
//   --program FILE     the gateway: dist/cli.js of this checkout or package
//   --no-restart       do not start again what has ended
//
// When a process is ready, also after a restart, the script prints "NAME PID URL", and "ready URL" once all are. Each
// instance has a home folder. MCPS_PROXY_STATE_KEY is that of the environment, or random. Logs go to stderr.

import { spawn } from 'node:child_process'
import { randomBytes, randomInt } from 'node:crypto'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import process from 'node:process'
import { setTimeout as delay } from 'node:timers/promises'
import { parseArgs } from 'node:util'

const options = {
  config: { type: 'string', default: process.env.MCPS_PROXY_CONFIG },
  instances: { type: 'string', default: '3' },
  balancer: { type: 'string', default: 'haproxy' },
  port: { type: 'string', default: '3095' },
  store: { type: 'boolean', default: false },
  program: { type: 'string', default: join(import.meta.dirname, '../../dist/cli.js') },
  'no-restart': { type: 'boolean', default: false },
}
const { values: given } = parseArgs({ options })
const pollMs = 50
/** How long a start may take, and an orderly end. */
const patienceMs = 30_000
const folder = mkdtempSync(join(tmpdir(), 'mcps-cluster-'))
const running = new Set()
let isEnding = false

/** Starts a program, waits until it is ready, and starts it again when it ends. */
async function keep(program) {
  const { name, url, command, args, env, isReady } = program
  // Debian has nginx and HAProxy in the PATH of root only.
  const whole = { ...process.env, PATH: `${process.env.PATH}:/usr/sbin:/usr/local/sbin`, ...env }
  // Each program leads a process group, so that Ctrl-C in a terminal reaches this script alone.
  const child = spawn(command, args, { cwd: folder, env: whole, stdio: ['ignore', 2, 2], detached: true })
  const ended = new Promise((done) => {
    child.on('error', ({ message }) => done(message))
    child.on('exit', (code, signal) => done(signal ?? `exit code ${code}`))
  })
  const entry = { name, child, ended, end: undefined }
  running.add(entry)
  void ended.then((end) => {
    entry.end = end
    running.delete(entry)
  })
  for (const from = Date.now(); !(await isReady()); await delay(pollMs))
    if (entry.end ?? (isEnding || Date.now() - from > patienceMs))
      throw new Error(`${name} does not start: ${entry.end}`)
  console.log(`${name} ${child.pid} ${url}`)
  void ended.then((end) => {
    if (isEnding) return
    console.error(`${name} has ended: ${end}`)
    if (!given['no-restart']) keep(program).catch(fail)
  })
}

/** Ends the balancer first, so that it sends nothing to instances that are ending, and the store last. */
async function end(exitCode) {
  if (isEnding) return
  isEnding = true
  for (const names of [['haproxy', 'nginx'], ['a', 'b', 'c'], ['redis']])
    await Promise.all([...running].filter(({ name }) => names.includes(name)).map(stop))
  rmSync(folder, { recursive: true, force: true, maxRetries: 10 })
  process.exit(exitCode)
}

async function stop({ child, ended }) {
  child.kill('SIGTERM')
  const late = setTimeout(() => child.kill('SIGKILL'), patienceMs)
  await ended
  clearTimeout(late)
}

function fail({ message }) {
  if (!isEnding) console.error(message)
  void end(1)
}

function accepts(port) {
  return new Promise((done) => {
    const socket = connect(port, '127.0.0.1', () => done(true)).on('error', () => done(false))
    socket.on('connect', () => socket.destroy())
  })
}

/** A free port below those that the system gives to outgoing connections. */
async function freePort() {
  const port = randomInt(20_000, 32_000)
  return (await accepts(port)) ? freePort() : port
}

function redis(port) {
  const memory = ['--maxmemory-policy', 'noeviction', '--save', '', '--appendonly', 'yes']
  const args = ['--port', String(port), '--bind', '127.0.0.1', '--loglevel', 'warning', ...memory]
  const url = `redis://127.0.0.1:${port}`
  return { name: 'redis', url, command: 'redis-server', args, env: {}, isReady: () => accepts(port) }
}

function instance(label, port, shared) {
  const HOME = join(folder, label)
  mkdirSync(HOME)
  const front = { MCP_SERVER_HOST: '127.0.0.1', MCP_SERVER_PORT: String(port), MCPS_PROXY_INSTANCE: label }
  const env = { ...shared, ...front, HOME }
  const args = [resolve(given.program), 'http']
  const url = `http://127.0.0.1:${port}`
  return { name: label, url, command: process.execPath, args, env, isReady: () => accepts(port) }
}

/** HAProxy or nginx with the configuration beside this file; `ports` are those of the instances. */
function balancer(name, port, ports) {
  const file = { haproxy: 'haproxy.cfg', nginx: 'nginx.conf' }[name]
  const text = readFileSync(join(import.meta.dirname, file), 'utf8')
    .replaceAll(/\b([abc]):3095\b/g, (_, label) => `127.0.0.1:${ports[label]}`)
    .replace(/(bind|listen) (?:\S*:)?3095/, `$1 127.0.0.1:${port}`)
  // The file for nginx is a part of its block http.
  const paths = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
    (each) => `${each}_temp_path ${each};`,
  )
  const user = process.getuid() === 0 ? 'user root;' : ''
  const http = `access_log off; ${paths.join(' ')}\n${text}`
  const whole = `${user} daemon off; pid pid; events {} http { ${http} }\n`
  writeFileSync(join(folder, file), name === 'nginx' ? whole : text)
  const args = {
    haproxy: ['-db', '-f', file],
    nginx: ['-p', folder, '-e', 'stderr', '-c', join(folder, file)],
  }
  const url = `http://127.0.0.1:${port}`
  return { name, url, command: name, args: args[name], env: {}, isReady: () => accepts(port) }
}

for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => void end(0))
try {
  const key = process.env.MCPS_PROXY_STATE_KEY ?? randomBytes(32).toString('hex')
  const shared = {
    MCPS_PROXY_STATE_KEY: key,
    ...(given.config && { MCPS_PROXY_CONFIG: resolve(given.config) }),
  }
  if (given.store) {
    const port = await freePort()
    await keep(redis(port))
    shared.MCPS_PROXY_STORE = `redis://127.0.0.1:${port}`
  }
  const ports = { a: await freePort(), b: await freePort(), c: await freePort() }
  const labels = Object.keys(ports).slice(0, Number(given.instances))
  await Promise.all(labels.map((label) => keep(instance(label, ports[label], shared))))
  const port = given.balancer === 'none' ? ports.a : Number(given.port) || (await freePort())
  if (given.balancer !== 'none') await keep(balancer(given.balancer, port, ports))
  console.log(`ready http://127.0.0.1:${port}`)
} catch (error) {
  fail(error)
}
