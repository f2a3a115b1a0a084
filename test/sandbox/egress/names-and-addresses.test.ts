// Names of hosts, lists of allowed hosts, and public addresses.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { hostName, isAllowed, shownHosts } from '../../../src/sandbox/egress/allowed-hosts.js'
import { isIn, ownNetworks } from '../../../src/sandbox/egress/dial.js'
import { isPublicAddress } from '../../../src/text/address-kind.js'

const words = (text: string): string[] => text.trim().split(/\s+/)

const plain = { netmask: '', mac: '', internal: false }

const names: readonly (readonly [text: string, name: string | undefined])[] = [
  ['example.com', 'example.com'],
  ['EXAMPLE.Com', 'example.com'],
  ['example.com.', 'example.com'],
  ['a.b-c.x_y.xn--p1ai', 'a.b-c.x_y.xn--p1ai'],
  ['1.2.3.example', '1.2.3.example'],
  [`${'a'.repeat(63)}.example`, `${'a'.repeat(63)}.example`],
  [`${'a'.repeat(64)}.example`, undefined],
  [`${'a.'.repeat(124)}abcde`, `${'a.'.repeat(124)}abcde`],
  [`${'a.'.repeat(124)}abcdef`, undefined],
  ['a b.example', undefined],
  ['a\0.example', undefined],
  ['a.example\n', undefined],
  // A sign of Kelvin becomes a k when letters are made small.
  ['\u212Aing.example', undefined],
  ['', undefined],
  ...words(`. localhost example.com.. .example.com a..example -a.example a-.example a%2e.example bücher.example
    127.0.0.1 127.1 2130706433 0x7f.0.0.1 a.0x7f 0177.0.0.01 [::1] ::1 user@example.com`).map(
    (text) => [text, undefined] as const,
  ),
]
for (const [text, name] of names)
  test(`the name of a host in ${JSON.stringify(text.slice(0, 40))}`, () => assert.equal(hostName(text), name))

const hosts = ['Example.com', '*.wild.example', 'api.example:8443', 'one.example:80']
const named: readonly (readonly [host: string, port: number, has: boolean])[] = [
  ['example.com', 443, true],
  ['example.com', 80, false],
  ['example.com', 8080, false],
  ['www.example.com', 443, false],
  ['notexample.com', 443, false],
  ['a.wild.example', 443, true],
  ['a.b.wild.example', 443, true],
  ['wild.example', 443, false],
  ['notwild.example', 443, false],
  ['api.example', 8443, true],
  ['api.example', 443, false],
  ['one.example', 80, true],
  ['one.example', 443, false],
]
for (const [host, port, has] of named)
  test(`a list of hosts ${has ? 'has' : 'has not'} ${host}:${port}`, () =>
    assert.equal(isAllowed(hosts, { host, port }), has))

test('a list of hosts is shown cut', () => {
  const shown = shownHosts(Array.from({ length: 500 }, (_, at) => `h${at}.example`))
  assert.equal(shown.length, 1001)
})

const open = words(`
    1.1.1.1 9.255.255.255 11.0.0.0 100.63.255.255 100.128.0.0 126.255.255.255 128.0.0.0 169.253.255.255
    172.15.255.255 172.32.0.0 192.0.1.0 192.167.255.255 192.169.0.0 198.17.255.255 198.20.0.0
    223.255.255.255 168.63.129.15 2606:4700::1111 2001:200::1 2003::1 2a00:1450:4001::1`)
const closed = words(`
    example.com 1.2.3 0.0.0.0 0.1.2.3 10.0.0.0 10.255.255.255 100.64.0.0 100.127.255.255 100.100.100.200
    127.0.0.1 127.255.255.254 169.254.0.0 169.254.169.254 172.16.0.1 172.31.255.255 192.0.0.192
    192.0.2.1 192.88.99.1 192.168.0.1 198.18.0.1 198.19.255.255 198.51.100.7 203.0.113.7 224.0.0.1
    239.255.255.255 240.0.0.1 255.255.255.255 168.63.129.16 :: ::1 ::7f00:1 ::8.8.8.8 ::ffff:127.0.0.1
    ::ffff:8.8.8.8 ::ffff:0:8.8.8.8 64:ff9b::7f00:1 64:ff9b::808:808 64:ff9b:1::1 100::1 2001::1
    2001:0:4136:e378:8000:63bf:3fff:fdd2 2001:2::1 2001:10::1 2001:20::1 2001:db8::1 2002:7f00:1::
    2002:808:808::1 3fff::1 4000::1 5f00::1 fc00::1 fd00:ec2::254 fe80::1 fe80::1%eth0
    2606:4700::1111%eth0 fec0::1 ff02::1`)
for (const address of open)
  test(`an address: ${address} is public`, () => assert.equal(isPublicAddress(address), true))
for (const address of ['', ...closed])
  test(`an address: ${address || 'without digits'} is not`, () =>
    assert.equal(isPublicAddress(address), false))

// A14: neighbours of the host are behind its firewall, even with public addresses.
const networks = ownNetworks({
  eth0: [
    { ...plain, family: 'IPv4', address: '93.184.216.34', cidr: '93.184.216.34/24' },
    { ...plain, family: 'IPv6', scopeid: 0, address: '2606:2800:220:1::5', cidr: '2606:2800:220:1::5/64' },
  ],
  tun0: [{ ...plain, family: 'IPv4', address: '8.8.4.4', cidr: null }],
})
const cases: readonly (readonly [address: string, isOwn: boolean])[] = [
  ['93.184.216.34', true],
  ['93.184.216.99', true],
  ['93.184.217.1', false],
  ['2606:2800:220:1::99', true],
  ['2606:2800:220:2::99', false],
  ['8.8.4.4', true],
  ['8.8.8.8', false],
]
for (const [address, isOwn] of cases)
  test(`the networks of the host: ${isOwn ? 'have' : 'have not'} ${address}`, () =>
    assert.equal(isIn(networks, address), isOwn))
