import { deepEqual } from 'node:assert/strict'
import { test } from 'node:test'
import { LastWords } from '../../src/upstream/process/stderr-log.js'

const cases: [string, readonly string[], readonly string[]][] = [
  [
    'Node',
    [
      '/app/server.js:3',
      "throw new Error('KEY is missing')",
      '^',
      'Error: KEY is missing',
      '    at Object.<anonymous> (/app/server.js:3:7)',
      '    at node:internal/main/run_main_module:23:47 {',
      "  code: 'EKEY',",
      '  [cause]: Error: nothing was given',
      '}',
      'Node.js v22.1.0',
    ],
    ['Error: KEY is missing'],
  ],
  [
    'Python, whose last error is the one that counts',
    [
      'Traceback (most recent call last):',
      '  File "a.py", line 1, in <module>',
      "KeyError: 'TOKEN'",
      'During handling of the above exception, another exception occurred:',
      'Traceback (most recent call last):',
      '  File "a.py", line 3, in <module>',
      'app.errors.StartError: TOKEN is not set',
    ],
    ['app.errors.StartError: TOKEN is not set'],
  ],
  [
    'npm',
    [
      'npm error code E404',
      'npm error 404 Not Found - GET https://example.org/none',
      "npm error 404  'none@*' is not in this registry.",
      'npm error 404 Note that you can also install from a tarball',
      'npm error A complete log of this run can be found in: /home/me/.npm/_logs/1.log',
    ],
    ["npm error 404  'none@*' is not in this registry."],
  ],
  [
    'Go',
    [
      'starting',
      'panic: no token',
      'goroutine 1 [running]:',
      'main.main()',
      '\t/app/main.go:4 +0x1d',
      'exit status 2',
    ],
    ['panic: no token'],
  ],
  [
    'another program',
    [
      'pulling',
      'docker: Error response from daemon: no such image',
      'uvx: error: no such package',
      'See --help',
    ],
    ['uvx: error: no such package'],
  ],
  [
    'one that names no error: its last lines',
    ['one', 'two', 'three', 'usage: server PORT', '    at x (y.js:1:1)', '}', 'Node.js v22.1.0'],
    ['two', 'three', 'usage: server PORT'],
  ],
  ['one that ends with an example', ['app: no token', 'For example: app --token T'], ['app: no token']],
  ['one that says nothing', [], []],
]

for (const [title, lines, want] of cases)
  test(title, () => {
    const words = new LastWords()
    for (const line of lines) words.add(line)
    deepEqual(words.lines, want)
  })

test('an error far above still counts, and no more is kept than is needed', () => {
  const words = new LastWords()
  words.add('Error: too far above')
  words.add('Error: no token')
  for (let at = 0; at < 199; at++) words.add(`    at f${at} (x.js:1:1)`)
  deepEqual(words.lines, ['Error: no token'])
  words.add('    at last (x.js:1:1)')
  words.add('bye')
  deepEqual(words.lines, ['bye'])
})
