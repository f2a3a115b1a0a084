// TOML and YAML files of clients: parsing, errors with their position, and the text after a change.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseServersFile } from '../../../src/cli/clients/servers-file.js'

const plain = (value: unknown): unknown => JSON.parse(JSON.stringify(value))

function serversIn(format: 'toml' | 'yaml', text: string): unknown {
  const read = parseServersFile({ format, key: 's' }, text)
  return read.kind === 'refused' ? read.why : plain(Object.fromEntries(read.servers))
}

const readings: readonly [format: 'toml' | 'yaml', title: string, text: string, wanted: unknown][] = [
  ['toml', 'is empty', '', {}],
  ['toml', 'has no servers', '[other]\na = 1\n[[list]]\nb = 1979-05-27 07:32:00\n', {}],
  [
    'toml',
    'has dotted keys and inline tables',
    '[s.a]\nenv.K = "v"\nx = { y.z = 1 }\n',
    { a: { env: { K: 'v' }, x: { y: { z: 1 } } } },
  ],
  ['toml', 'has a name of every object', '[s.__proto__]\nc = "x"\n', JSON.parse('{"__proto__":{"c":"x"}}')],
  [
    'toml',
    'is cut',
    '[s.a]\nc = "x\n',
    'is not TOML at line 2: control characters are not allowed in strings',
  ],
  ['toml', 'has a list of servers', '[[s]]\nc = 1\n', 'has a "s" that is no object'],
  ['yaml', 'is empty', '', {}],
  ['yaml', 'has an empty list', 's:\nb: 1\n', {}],
  ['yaml', 'has a list where its key is', 's:\n- name: a\n  c:\n  - x\n', { a: { c: ['x'] } }],
  [
    'yaml',
    'has the words of YAML 1.2',
    's:\n  - name: a\n    c: true\n    d: 2020-01-01\n    e: yes\n',
    { a: { c: true, d: '2020-01-01', e: 'yes' } },
  ],
  ['yaml', 'has blocks and anchors', 's:\n  - &x\n    name: a\n    c: |\n      y\n', { a: { c: 'y\n' } }],
  [
    'yaml',
    'has a tab',
    's:\n  - name: a\n\tc: x\n',
    'is not YAML at line 3: Tabs are not allowed as indentation',
  ],
  ['yaml', 'has no list', 's: { a: 1 }\n', 'has a "s" that is no list'],
  ['yaml', 'has a server without a name', 's:\n  - c: x\n', 'has a server without a name'],
  ['yaml', 'has a name twice', 's:\n  - name: a\n  - name: a\n', "has two servers 'a'"],
]

for (const [format, title, text, wanted] of readings)
  test(`a file of servers in ${format} ${title}`, () => assert.deepEqual(serversIn(format, text), wanted))

const entry = { c: 'v', l: ['w'] }
const edits: readonly [
  format: 'toml' | 'yaml',
  title: string,
  text: string,
  removed: readonly string[],
  after: string,
][] = [
  [
    'toml',
    'gets a table at its end where none goes',
    'a = 1',
    [],
    'a = 1\n\n[s."x\\""]\nc = "v"\nl = [ "w" ]\n',
  ],
  [
    'toml',
    'keeps what looks like a table in a text',
    '[s.a]\nc = """\n[s.b]\n"""\n\n[s.a.env]\nK = "v"\n# of b\n[s.b]\nc = [\n  [1],\n] # all\n',
    ['a'],
    '[s."x\\""]\nc = "v"\nl = [ "w" ]\n\n# of b\n[s.b]\nc = [\n  [1],\n] # all\n',
  ],
  [
    'yaml',
    'gets a list where there is none',
    'a: 1',
    [],
    'a: 1\ns:\n  - name: "x\\""\n    c: "v"\n    l:\n      - "w"\n',
  ],
  [
    'yaml',
    'gets an item in an empty list',
    's: []\na: 1\n',
    [],
    's:\n  - name: "x\\""\n    c: "v"\n    l:\n      - "w"\na: 1\n',
  ],
  [
    'yaml',
    'keeps comments and order',
    's:\n# one\n- name: a # here\n  c: x\n\n# two\n- {name: b,   c: y}\n',
    ['a'],
    's:\n# one\n- name: "x\\""\n  c: "v"\n  l:\n  - "w"\n\n# two\n- { name: b, c: y }\n',
  ],
]

for (const [format, title, text, removed, after] of edits)
  test(`a change of a file of servers in ${format} ${title}`, () => {
    const read = parseServersFile({ format, key: 's' }, text)
    assert(read.kind === 'servers')
    assert.equal(read.edit({ removed, set: new Map([['x"', entry]]) }), after)
  })
