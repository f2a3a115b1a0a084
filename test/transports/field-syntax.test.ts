// No value can end its header field early and begin another one.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { fieldLine } from '../../src/transports/http1/head.js'

describe('a header field', () => {
  const sent: [string, string, string][] = [
    ['accept', 'a, b', 'accept: a, b\r\n'],
    ['x-empty', '', 'x-empty: \r\n'],
    ['x-tab', 'a\tb', 'x-tab: a\tb\r\n'],
    ['x-latin', 'caf\u00e9', 'x-latin: caf\u00e9\r\n'],
    ["!#$%&'*+-.^_`|~09Az", 'x', "!#$%&'*+-.^_`|~09Az: x\r\n"],
  ]
  for (const [name, value, line] of sent)
    test(`is written: ${JSON.stringify(line)}`, () => assert.equal(fieldLine(name, value), line))

  const values = [
    'a\r\nx: y',
    'a\nx: y',
    'a\rx',
    '\0',
    'a\u007f',
    'a\u001bb',
    '\u2028',
    '\u010a',
    '\u560d\u560a',
  ]
  for (const value of values)
    test(`is not written with the value ${JSON.stringify(value)}`, () =>
      assert.throws(() => fieldLine('x', value), /the header x has characters that cannot be sent/))

  const names = ['', 'a b', 'a:', 'a\r\n', 'a\nb', '\u00e9', 'a\tb', '(a)', 'a\0']
  for (const name of names)
    test(`is not written with the name ${JSON.stringify(name)}`, () =>
      assert.throws(() => fieldLine(name, 'x'), /is no name of a header/))
})
