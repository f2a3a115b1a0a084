// Addresses that parsers may read differently are refused.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { hasDoubtfulAuthority, resolvedAddress } from '../../src/transports/address.js'

const base = new URL('https://a.example/mcp')
const addresses: readonly [address: string, to: string | undefined][] = [
  ['/sse/', 'https://a.example/sse/'],
  ['//b.example/x', 'https://b.example/x'],
  ['https://b.example', 'https://b.example/'],
  ['/x\\y', 'https://a.example/x/y'],
  ['/?q=\\"', 'https://a.example/?q=\\%22'],
  ['https://a.example\\@b.example/', undefined],
  ['//a.example"b/', undefined],
  ['\\\\b.example/', undefined],
  ['/\\b.example/', undefined],
  ['https:\\\\b.example/', undefined],
  ['http://', undefined],
]

for (const [address, to] of addresses)
  test(`an address that a server names: ${address}`, () => {
    assert.equal(resolvedAddress(address, base)?.href, to)
    if (to !== undefined) assert.equal(hasDoubtfulAuthority(address), false)
  })
