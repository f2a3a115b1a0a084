// Children that misbehave, and what they may see.

import { strict as assert } from 'node:assert'
import { readFileSync, realpathSync } from 'node:fs'
import { describe, test } from 'node:test'
import { failure, said } from './support/client.js'
import { libraryProxy } from './support/library.js'
import { type ServerEntry, itServer } from './support/programs.js'
import { type Scope, type Spawned, scratch, spawnProxy } from './support/spawned.js'
import { until } from './support/waiting.js'

const MiB = 1024 * 1024
const hasProc = process.platform === 'linux'

const network = {
  HTTP_PROXY: 'http://proxy:3128',
  https_proxy: 'http://me:hunter2@proxy:3128',
  HTTPS_PROXY: 'me:hunter2@proxy:3128',
  no_proxy: 'localhost,.corp',
  NODE_EXTRA_CA_CERTS: '',
  SSL_CERT_FILE: '/ca/all.pem',
  SSL_CERT_DIR: '/ca',
  XDG_CONFIG_HOME: '/home/me@corp/.config',
  XDG_ODD: 'https://me:hunter2@h/x',
}

async function environmentOf(
  t: Scope,
  more: ServerEntry,
  env: Readonly<Record<string, string>>,
): Promise<Record<string, unknown>> {
  const whole = { HOME: '/home/it', PATH: process.env['PATH'] ?? '', ...env }
  const { client } = spawnProxy(t, { s: itServer({}, more) }, { env: whole })
  await client.open()
  return Object.fromEntries(Object.entries(said(await client.call('s__env')) ?? {}))
}

describe('what children see', () => {
  test('their environment is the allow-list, what they inherit and their own, and nothing else', async (t) => {
    const env = {
      HOME: '/home/it',
      PATH: process.env['PATH'],
      LANG: 'C.UTF-8',
      TZ: 'UTC',
      TERM: '() { :; }; echo shell function',
      SECRET_TOKEN: 'secret',
      NODE_OPTIONS: '--no-warnings',
      LD_PRELOAD: '',
      MCPS_PROXY_TOKEN: 'secret',
      IT_WANTED: 'wanted',
      IT_UNWANTED: 'unwanted',
    }
    const servers = {
      s: itServer({ OWN: 'own ${IT_WANTED}', LANG: 'de' }, { inheritEnv: ['IT_WANTED', 'IT_MISSING'] }),
    }
    const { client } = spawnProxy(t, servers, { env })
    await client.open()
    const {
      MCPS_PROXY_CHAIN: chain,
      MCPS_PROXY_START: start,
      ...rest
    } = Object.fromEntries(Object.entries(said(await client.call('s__env')) ?? {}))
    assert.match(String(start), /^[0-9a-z]+$/)
    assert.match(String(chain), /^file:\/\/\/\S+\/config\.json#default$/)
    assert.deepEqual(rest, {
      HOME: '/home/it',
      PATH: env.PATH,
      LANG: 'de',
      TZ: 'UTC',
      IT_WANTED: 'wanted',
      OWN: 'own wanted',
    })
  })

  test('how the network is reached is among it, unless it tells who we are', async (t) => {
    const got = await environmentOf(t, {}, network)
    const { HTTP_PROXY, no_proxy, NODE_EXTRA_CA_CERTS, SSL_CERT_FILE, SSL_CERT_DIR, XDG_CONFIG_HOME } =
      network
    const told = { HTTP_PROXY, no_proxy, NODE_EXTRA_CA_CERTS, SSL_CERT_FILE, SSL_CERT_DIR, XDG_CONFIG_HOME }
    const names = Object.keys(network)
    assert.deepEqual(Object.fromEntries(Object.entries(got).filter(([name]) => names.includes(name))), told)
    const named = await environmentOf(t, { inheritEnv: ['https_proxy'] }, network)
    assert.equal(named['https_proxy'], network.https_proxy)
  })

  test('with inheritEnv: true they have all of it but what is ours', async (t) => {
    const own = { MCPS_PROXY_TOKEN: 'secret', MCPS_PROXY_CHAIN: 'x', IT_ANY: 'any' }
    const got = await environmentOf(t, { inheritEnv: true }, { ...network, ...own })
    assert.deepEqual([got['IT_ANY'], got['HTTPS_PROXY']], ['any', network.HTTPS_PROXY])
    assert.equal(got['MCPS_PROXY_TOKEN'], undefined)
    assert.match(String(got['MCPS_PROXY_CHAIN']), /^x file:/)
  })

  test('arguments reach them as they are written, through no shell', async (t) => {
    const args = ['$HOME', '`id`', 'a b', '"', "'", '*', ';exit', '\\', '', 'é😀', '-', '--', '%PATH%', '\n']
    const script = 'console.error(JSON.stringify(process.argv.slice(1)));setTimeout(()=>process.exit(3),50)'
    const cwd = realpathSync(scratch(t))
    const servers = { s: { command: process.execPath, args: ['-e', script, ...args], cwd, restart: false } }
    const { proxy, attach, log } = await libraryProxy(t, servers)
    const { client } = await attach()
    await client.open()
    await until(() => proxy.status()[0]?.state === 'error')
    const line = log.find(({ details }) => details?.['stream'] === 'stderr')
    assert.equal(line?.message, JSON.stringify(args))
    assert.deepEqual(failure(await client.call('s__x')).slice(0, 2), [-32603, 's'])
  })
})

describe('children that say too much', () => {
  test('100 MB on stderr block nothing, in lines and in one', async (t) => {
    const proxy = spawnProxy(t, { s: itServer(), o: itServer() }, { args: ['--log-level', 'error'] })
    const { client } = proxy
    await client.open()
    const before = hasProc ? rss(proxy) : 0
    for (const width of [100, MiB]) {
      const flood = client.call('s__stderr-flood', { bytes: 50 * MiB, width })
      const answers = await Promise.all(
        Array.from({ length: 20 }, (_, i) => client.call('o__nonce', { n: String(i) })),
      )
      assert.equal(answers.length, 20)
      assert.deepEqual(said(await flood), {})
    }
    const after = hasProc ? rss(proxy) : 0
    assert(after - before < 64 * MiB, `grew by ${Math.round((after - before) / MiB)} MB`)
  })
})

function rss({ child }: Spawned): number {
  const status = readFileSync(`/proc/${child.pid}/status`, 'utf8')
  return Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) * 1024
}
