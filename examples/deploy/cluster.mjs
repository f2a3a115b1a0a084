// Up to three instances of the gateway on one machine, behind HAProxy or nginx, until Ctrl-C.
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
/** How long a start may take, and an orderly end. */
const patienceMs = 30_000
const folder = mkdtempSync(join(tmpdir(), 'mcps-cluster-'))
const running = new Set()
let isEnding = false

/** Starts a program, waits until it is ready, and starts it again when it ends. */
async function keep(program) {
  const { name, port, scheme = 'http', command, args, env } = program
  // Debian has nginx and HAProxy in the PATH of root only.
  const whole = { ...process.env, PATH: `${process.env.PATH}:/usr/sbin`, ...env }
  // Each program leads a process group, so that Ctrl-C in a terminal reaches this script alone.
  const child = spawn(command, args, { cwd: folder, env: whole, stdio: ['ignore', 2, 2], detached: true })
  const ended = new Promise((done) => {
    child.on('error', ({ message }) => done(message))
    child.on('exit', (code, signal) => done(signal ?? `exit code ${code}`))
  })
  const entry = { name, child, ended }
  running.add(entry)
  void ended.then(() => running.delete(entry))
  for (const from = Date.now(); !(await accepts(port)); await delay(50))
    if (isEnding || !running.has(entry) || Date.now() - from > patienceMs)
      throw new Error(`${name} does not start`)
  console.log(`${name} ${child.pid} ${scheme}://127.0.0.1:${port}`)
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

function stop({ child, ended }) {
  child.kill('SIGTERM')
  setTimeout(() => child.kill('SIGKILL'), patienceMs)
  return ended
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
  return { name: 'redis', port, scheme: 'redis', command: 'redis-server', args }
}

function instance(label, port, shared) {
  const HOME = join(folder, label)
  mkdirSync(HOME)
  const front = { MCP_SERVER_HOST: '127.0.0.1', MCP_SERVER_PORT: String(port), MCPS_PROXY_INSTANCE: label }
  const env = { ...shared, ...front, HOME }
  return { name: label, port, command: process.execPath, args: [resolve(given.program), 'http'], env }
}

/** HAProxy or nginx with the configuration beside this file; `ports` are those of the instances. */
function balancer(name, port, ports) {
  const file = { haproxy: 'haproxy.cfg', nginx: 'nginx.conf' }[name]
  const text = readFileSync(join(import.meta.dirname, file), 'utf8')
    .replaceAll(/\b([abc]):3095\b/g, (_, label) => `127.0.0.1:${ports[label]}`)
    .replace(/(bind|listen) (?:\S*:)?3095/, `$1 127.0.0.1:${port}`)
  const config = join(folder, file)
  writeFileSync(config, name === 'nginx' ? wholeNginx(text) : text)
  const args = { haproxy: ['-db', '-f', config], nginx: ['-p', folder, '-e', 'stderr', '-c', config] }
  return { name, port, command: name, args: args[name] }
}

/** The file for nginx is a part of its block http. */
function wholeNginx(part) {
  const kinds = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
  const paths = kinds.map((kind) => `${kind}_temp_path ${kind};`).join(' ')
  return `${process.getuid() === 0 ? 'user root;' : ''} daemon off; pid pid; events {} http { access_log off; ${paths}\n${part} }\n`
}

for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => void end(0))
try {
  const shared = {
    MCPS_PROXY_CONFIG: given.config && resolve(given.config),
    MCPS_PROXY_STATE_KEY: process.env.MCPS_PROXY_STATE_KEY ?? randomBytes(32).toString('hex'),
  }
  if (given.store) {
    const port = await freePort()
    await keep(redis(port))
    shared.MCPS_PROXY_STORE = `redis://127.0.0.1:${port}`
  }
  const ports = { a: await freePort(), b: await freePort(), c: await freePort() }
  const labels = Object.keys(ports).slice(0, Number(given.instances))
  await Promise.all(labels.map((label) => keep(instance(label, ports[label], shared))))
  const port = Number(given.port) || (await freePort())
  if (given.balancer !== 'none') await keep(balancer(given.balancer, port, ports))
  console.log(`ready http://127.0.0.1:${given.balancer === 'none' ? ports.a : port}`)
} catch (error) {
  fail(error)
}
