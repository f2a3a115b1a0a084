// Children that misbehave, and what they may see.

import { strict as assert } from 'node:assert'
import { readFileSync, realpathSync } from 'node:fs'
import { test } from 'node:test'
import { failure, said } from './support/client.js'
import { proxyWithClient } from './support/library.js'
import { itServer } from './support/programs.js'
import { type Spawned, scratch, spawnProxy } from './support/spawned.js'
import { until } from './support/waiting.js'

const MiB = 1024 * 1024
const hasProc = process.platform === 'linux'

/** How the network is reached. */
const network = {
  HTTP_PROXY: 'http://proxy:3128',
  no_proxy: 'localhost,.corp',
  NODE_EXTRA_CA_CERTS: '',
  SSL_CERT_FILE: '/ca/all.pem',
  SSL_CERT_DIR: '/ca',
  XDG_CONFIG_HOME: '/home/me@corp/.config',
}

/** The same with who we are in it. */
const logins = {
  https_proxy: 'http://me:hunter2@proxy:3128',
  HTTPS_PROXY: 'me:hunter2@proxy:3128',
  XDG_ODD: 'https://me:hunter2@h/x',
}

const allowed = { HOME: '/home/it', PATH: process.env['PATH'], LANG: 'C.UTF-8', TZ: 'UTC' }

const env = {
  ...allowed,
  ...network,
  ...logins,
  TERM: '() { :; }; echo shell function',
  SECRET_TOKEN: 'secret',
  NODE_OPTIONS: '--no-warnings',
  LD_PRELOAD: '',
  MCPS_PROXY_TOKEN: 'secret',
  MCPS_PROXY_CHAIN: 'x',
  IT_WANTED: 'wanted',
}

test('children: their environment is the allow-list, what they inherit and their own alone', async (t) => {
  const servers = {
    s: itServer(
      // No key of the configuration hides the chain of proxies.
      { OWN: 'own ${IT_WANTED}', LANG: 'de', MCPS_PROXY_CHAIN: '' },
      { inheritEnv: ['IT_WANTED', 'https_proxy', 'NONE'] },
    ),
    all: itServer({}, { inheritEnv: true }),
  }
  const { client } = spawnProxy(t, servers, { env })
  await client.open()
  const environmentOf = async (name: string): Promise<Record<string, unknown>> =>
    Object.fromEntries(Object.entries(said(await client.call(`${name}__env`)) ?? {}))
  const { MCPS_PROXY_CHAIN: chain, MCPS_PROXY_START: start, ...rest } = await environmentOf('s')
  assert.match(String(start), /^[0-9a-z]+$/)
  assert.match(String(chain), /^x file:\/\/\/\S+\/config\.json#default$/)
  const { https_proxy } = logins
  const own = { LANG: 'de', OWN: 'own wanted', IT_WANTED: 'wanted' }
  assert.deepEqual(rest, { ...allowed, ...network, https_proxy, ...own })

  const { MCPS_PROXY_CHAIN: sameChain, MCPS_PROXY_START: _, ...all } = await environmentOf('all')
  assert.equal(sameChain, chain)
  const { MCPS_PROXY_TOKEN: _token, MCPS_PROXY_CHAIN: _chain, TERM: _term, ...inherited } = env
  assert.deepEqual(all, inherited)
})

test('children: arguments reach them as they are written, through no shell', async (t) => {
  const args = ['$HOME', '`id`', 'a b', '"', "'", '*', ';exit', '\\', '', 'é😀', '-', '--', '%PATH%', '\n']
  const script = 'console.error(JSON.stringify(process.argv.slice(1)));setTimeout(()=>process.exit(3),50)'
  const cwd = realpathSync(scratch(t))
  const servers = { s: { command: process.execPath, args: ['-e', script, ...args], cwd, restart: false } }
  const { client, proxy, log } = await proxyWithClient(t, servers)
  await until(() => proxy.status()[0]?.state === 'error')
  assert.equal(log.find(({ details }) => details?.['stream'] === 'stderr')?.message, JSON.stringify(args))
  assert.deepEqual(failure(await client.call('s__x')).slice(0, 2), [-32603, 's'])
})

test('children that say too much: 100 MB on stderr block nothing, in lines and in one', async (t) => {
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

function rss({ child }: Spawned): number {
  const status = readFileSync(`/proc/${child.pid}/status`, 'utf8')
  return Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) * 1024
}
