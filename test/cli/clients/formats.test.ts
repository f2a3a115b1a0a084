// TOML and YAML of clients: what is read, and what is refused with its place.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { readTomlFile } from '../../../src/cli/clients/toml-file.js'
import { readYamlFile } from '../../../src/cli/clients/yaml-file.js'

const plain = (value: unknown): unknown => JSON.parse(JSON.stringify(value))

const tomlIn = (text: string): unknown => {
  const read = readTomlFile(text, 's')
  return read.kind === 'refused' ? read.why : plain(Object.fromEntries(read.servers))
}

const yamlIn = (text: string): unknown => {
  const read = readYamlFile(text, 's')
  return read.kind === 'refused' ? read.why : plain(Object.fromEntries(read.servers))
}

describe('TOML', () => {
  const cases: [string, string, unknown][] = [
    ['is empty', '', {}],
    ['has no servers', '[other]\na = 1\n[[list]]\nb = 1979-05-27 07:32:00\n', {}],
    ['has an empty table above', '[s]\n[s.a]\nc = "x"\n', { a: { c: 'x' } }],
    ['has escapes', '[s.a]\nc = "\\u00e9\\t\\"\\\\"\n', { a: { c: 'é\t"\\' } }],
    ['has literal texts', "[s.a]\nc = 'C:\\x'\n", { a: { c: 'C:\\x' } }],
    [
      'has texts of several lines',
      '[s.a]\nc = """\none \\\n   two"""\nd = \'\'\'\nx\'\'\'\n',
      { a: { c: 'one two', d: 'x' } },
    ],
    ['has dotted keys', '[s.a]\nenv.K = "v"\n', { a: { env: { K: 'v' } } }],
    ['has inline tables', '[s.a]\nenv = { K = "v", x.y = 1 }\n', { a: { env: { K: 'v', x: { y: 1 } } } }],
    ['has numbers', '[s.a]\nn = 1_000\nd = -2.5\nt = 2020-01-01\n', { a: { n: 1000, d: -2.5, t: null } }],
    ['has lists of several lines', '[s.a]\nl = [ # one\n "a",\n "b", # two\n]\n', { a: { l: ['a', 'b'] } }],
    ['has blanks in a header', '[ s . "a b" ] # c\nc = 1\n', { 'a b': { c: 1 } }],
    [
      'has a name of every object',
      '[s.__proto__]\nc = "x"\n[s.a]\n__proto__ = 1\n',
      JSON.parse('{"__proto__":{"c":"x"},"a":{"__proto__":1}}'),
    ],
    ['is cut', '[s.a]\nc = "x\n', 'is not TOML at line 2: a value was expected'],
    ['has two values', '[s.a]\nc = 1 2\n', 'is not TOML at line 2: the end of the line was expected'],
    ['has a header that does not end', '[s.a\n', 'is not TOML at line 1: ] was expected'],
    ['has a list that does not end', '[s.a]\nl = ["x"\n', 'is not TOML at line 3: ] was expected'],
    ['has no such escape', '[s.a]\nc = "\\q"\n', 'is not TOML at line 2: \\q is no escape'],
    ['says a key twice', '[s.a]\nc = 1\nc = 2\n', 'has s.a.c twice'],
    ['has a table below a value', '[s.a]\nc = 1\n[s.a.c]\n', 'has [s.a.c] below a value that is no table'],
    [
      'has servers inline',
      's = { a = { c = 1 } }\n',
      'has servers that are no tables like [s.NAME], and these are not read',
    ],
    [
      'has servers as dotted keys',
      '[s]\na.c = 1\n',
      'has servers that are no tables like [s.NAME], and these are not read',
    ],
    [
      'has a list of servers',
      '[[s.a]]\nc = 1\n',
      'has servers that are no tables like [s.NAME], and these are not read',
    ],
  ]
  for (const [title, text, wanted] of cases) test(title, () => assert.deepEqual(tomlIn(text), wanted))

  test('gets a table at its end where none goes', () => {
    const read = readTomlFile('a = 1', 's')
    assert(read.kind === 'servers')
    const set = new Map([['x"', { c: 'v' }]])
    assert.equal(read.edit({ removed: [], set }), 'a = 1\n\n[s."x\\""]\nc = "v"\n')
  })
})

describe('YAML', () => {
  const cases: [string, string, unknown][] = [
    ['is empty', '', {}],
    ['has no servers', 'name: x\n', {}],
    ['has an empty list', 's:\nb: 1\n', {}],
    ['has a list where its key is', 's:\n- name: a\n  c:\n  - x\n  - y\n', { a: { c: ['x', 'y'] } }],
    [
      'has every kind of text',
      `s:\n  - name: "a\\tb"\n    c: 'it''s'\n    d: x y # z\n    e: a#b\n`,
      { 'a\tb': { c: "it's", d: 'x y', e: 'a#b' } },
    ],
    [
      'has words that are no texts',
      's:\n  - name: a\n    c: true\n    d: 5\n    e:\n    f: ~\n    g: 0x1F\n    h: 2020-01-01\n    i: yes\n',
      { a: { c: true, d: 5, e: null, f: null, g: 31, h: '2020-01-01', i: 'yes' } },
    ],
    [
      'has lists on a line',
      `s:\n  - name: a\n    c: ["x, y", 'z', w]\n    d: []\n    e: {}\n`,
      { a: { c: ['x, y', 'z', 'w'], d: [], e: {} } },
    ],
    [
      'has mappings below',
      's:\n  - name: a\n    r:\n      h:\n        X-Y: z\n',
      { a: { r: { h: { 'X-Y': 'z' } } } },
    ],
    ['has a list of mappings', 's:\n  -\n    name: a\n    c: x\n', { a: { c: 'x' } }],
    [
      'has texts of several lines',
      's:\n  - name: a\n    c: x\n      y\n',
      'has a form at line 4 that is not read',
    ],
    ['has a block', 's:\n  - name: a\n    c: |\n      y\n', 'has a form at line 3 that is not read'],
    ['has an anchor', 's:\n  - &x\n    name: a\n', 'has a form at line 2 that is not read'],
    ['merges', 's:\n  - name: a\n    <<: *x\n', 'has a form at line 3 that is not read'],
    ['has a tab', 's:\n  - name: a\n\tc: x\n', 'has a form at line 3 that is not read'],
    ['has a mapping on a line', 's:\n  - { name: a }\n', 'has a form at line 2 that is not read'],
    ['has the list on the line of its key', 's: [x]\n', 'has a form at line 1 that is not read'],
    ['has a server without a name', 's:\n  - c: x\n', 'has a server without a name at line 2'],
    ['has a name twice', 's:\n  - name: a\n  - name: a\n', 'has two servers of one name'],
    ['says a key twice', 's:\n  - name: a\n    c: x\n    c: y\n', 'has "c" twice at line 4'],
    ['has the servers twice', 's:\ns:\n', 'has "s" twice'],
  ]
  for (const [title, text, wanted] of cases) test(title, () => assert.deepEqual(yamlIn(text), wanted))
})
