import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { isNearby, proxyFor } from '../../src/transports/http-client/proxy-choice.js'

type Env = Readonly<Record<string, string>>

const both = { HTTPS_PROXY: 'http://p:3128', HTTP_PROXY: 'http://q:8080' }

const chosen: readonly [title: string, url: string, env: Env, proxy: string | undefined][] = [
  ['nothing is set', 'https://a.example/', {}, undefined],
  ['https', 'https://a.example/', both, 'http://p:3128/'],
  ['http', 'http://a.example/', both, 'http://q:8080/'],
  ['http is no https', 'https://a.example/', { HTTP_PROXY: 'http://q' }, undefined],
  ['lower case', 'https://a.example/', { https_proxy: 'http://p' }, 'http://p/'],
  ['lower case stands above', 'https://a.example/', { ...both, https_proxy: 'http://l' }, 'http://l/'],
  ['an empty one is none', 'https://a.example/', { ...both, https_proxy: '', HTTPS_PROXY: ' ' }, undefined],
  ['no scheme', 'https://a.example/', { HTTPS_PROXY: 'p:3128' }, 'http://p:3128/'],
  ['a proxy with TLS', 'https://a.example/', { HTTPS_PROXY: 'https://p' }, 'https://p/'],
  ['a login', 'https://a.example/', { HTTPS_PROXY: 'http://u:w@p' }, 'http://u:w@p/'],
]

const exempt: readonly [list: string, url: string, isExempt: boolean][] = [
  ['*', 'https://a.example/', true],
  ['a.example', 'https://a.example/', true],
  ['A.Example', 'https://a.example/', true],
  ['a.example', 'https://A.EXAMPLE/', true],
  ['a.example', 'https://a.example./', true],
  ['a.example', 'https://x.a.example/', true],
  ['.a.example', 'https://x.a.example/', true],
  ['*.a.example', 'https://x.a.example/', true],
  ['a.example', 'https://xa.example/', false],
  ['a.exampl', 'https://a.example/', false],
  ['b.example, a.example', 'https://a.example/', true],
  ['b.example a.example', 'https://a.example/', true],
  ['a.example:443', 'https://a.example/', true],
  ['a.example:80', 'http://a.example/', true],
  ['a.example:8443', 'https://a.example/', false],
  ['a.example:8443', 'https://a.example:8443/', true],
  ['10.1.2.3', 'http://10.1.2.3/', true],
  ['10.1.2.3', 'http://10.1.2.30/', false],
  ['10.0.0.0/8', 'http://10.1.2.3/', true],
  ['10.0.0.0/8', 'http://11.1.2.3/', false],
  ['10.0.0.0/99', 'http://10.1.2.3/', false],
  ['10.0.0.0/8', 'http://10.example/', false],
  ['2001:db8::1', 'http://[2001:db8::1]/', true],
  ['[2001:db8::1]:80', 'http://[2001:db8::1]/', true],
  ['2001:db8::/32', 'http://[2001:db8:1::1]/', true],
  [',,', 'https://a.example/', false],
  ['.', 'https://a.example/', false],
]

const nearby = `localhost LOCALHOST. x.localhost 127.0.0.1 127.9.9.9 0.0.0.0 [::1] [::ffff:127.0.0.1] 169.254.169.254
  [::ffff:169.254.169.254] [fe80::1] [fd00:ec2::254] metadata.google.internal metadata.google.internal. metadata`
const distant = 'notlocalhost localhost.example 10.0.0.1 [2001:db8::1]'.split(' ')

describe('the proxy of an address', () => {
  for (const [title, url, env, proxy] of chosen)
    test(title, () => assert.equal(proxyFor(new URL(url), { own: undefined, env })?.href, proxy))

  for (const [list, url, isExempt] of exempt)
    test(`NO_PROXY=${list}: ${url}`, () => {
      for (const name of ['NO_PROXY', 'no_proxy']) {
        const env = { ...both, [name]: list }
        assert.equal(proxyFor(new URL(url), { own: undefined, env }) === undefined, isExempt)
      }
    })

  for (const host of [...nearby.split(/\s+/), ...distant]) {
    const is = !distant.includes(host)
    test(`${host} is ${is ? '' : 'not '}near`, () => {
      const url = new URL(`http://${host}/`)
      assert.equal(isNearby(url.hostname), is)
      assert.equal(proxyFor(url, { own: undefined, env: both }) === undefined, is)
      assert.equal(proxyFor(url, { own: 'http://own', env: both }) === undefined, is)
    })
  }

  test('of the configuration stands above the environment', () => {
    const url = new URL('https://a.example/')
    const env = { ...both, NO_PROXY: '*' }
    assert.equal(proxyFor(url, { own: 'http://own:1', env })?.href, 'http://own:1/')
    assert.equal(proxyFor(url, { own: false, env: both }), undefined)
  })

  for (const text of [
    'ht tp',
    ...String.raw`socks5://p http:// http://a\@b http://p/path http://p?x http://p:CANARY`.split(' '),
  ])
    test(`that is none is an error without its text: ${text}`, () => {
      const env = { https_proxy: text }
      assert.throws(
        () => proxyFor(new URL('https://a.example/'), { own: undefined, env }),
        ({ message }: Error) =>
          message.startsWith('https_proxy is not the address of a proxy; it must be like http://') &&
          !message.includes('CANARY'),
      )
    })
})
