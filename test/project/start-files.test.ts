// The files that a start of the built command loads: every client waits for them.

import assert from 'node:assert'
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { describe, test } from 'node:test'
import { root } from '../support/source-text.js'

const dist = join(root, 'dist')

/** The files of the bundle that this one imports by a statement, itself included. */
function loadedWith(file: string, found: Set<string> = new Set()): Set<string> {
  if (found.has(file)) return found
  found.add(file)
  const statements = readFileSync(file, 'utf8').matchAll(/^(?:import |\} from )"(\.[^"]+)";$/gm)
  for (const [, path = ''] of statements) loadedWith(join(dirname(file), path), found)
  return found
}

function bytesOf(files: ReadonlySet<string>): number {
  return [...files].reduce((sum, file) => sum + readFileSync(file).length, 0)
}

function entry(name: RegExp): string {
  const [file] = readdirSync(dist).filter((each) => name.test(each))
  assert(file !== undefined, `no file of dist is called ${String(name)}`)
  return join(dist, file)
}

/** The modules of Node.js that a program without a client has loaded when it ends. */
function builtinsOf(program: readonly string[]): string[] {
  const tell = 'process.on("exit", () => process._rawDebug(JSON.stringify(process.moduleLoadList)))'
  const home = mkdtempSync(join(tmpdir(), 'start-files-'))
  const { stderr } = spawnSync(
    process.execPath,
    ['--import', `data:text/javascript,${encodeURIComponent(tell)}`, ...program],
    { input: '', encoding: 'utf8', env: { HOME: home } },
  )
  rmSync(home, { recursive: true, force: true, maxRetries: 10 })
  const listed: unknown = JSON.parse(stderr.trim().split('\n').at(-1) ?? '')
  assert(Array.isArray(listed))
  return listed.map(String)
}

const has = (file: string, text: string): boolean => readFileSync(file, 'latin1').includes(text)

describe('a start of the command', () => {
  test('opens few files: each stage is one chunk, beside what begins it', () => {
    const files = loadedWith(entry(/^serve-.*\.js$/), loadedWith(join(dist, 'cli.js')))
    assert(files.size <= 5, [...files].join('\n'))
  })

  test('opens all files of what every run needs: an upgrade may replace them while it runs', () => {
    const files = loadedWith(entry(/^serve-.*\.js$/), loadedWith(join(dist, 'cli.js')))
    const text = [...files].map((file) => readFileSync(file, 'latin1')).join('')
    for (const needed of ['"node_modules/ajv/dist/2020.js"(', 'PQueue = class ', 'ArgumentChecks = class '])
      assert(text.includes(needed), needed)
  })

  test('over HTTP opens nothing of logins of clients, which are loaded with their configuration', () => {
    const texts = [...loadedWith(entry(/^gateway-.*\.js$/))].map((file) => readFileSync(file, 'latin1'))
    for (const [name, isThere] of [
      ['FrontAccess = class ', true],
      ['FrontAuth = class ', false],
      ['"jose"', false],
    ] as const)
      assert.equal(
        texts.some((text) => text.includes(name)),
        isThere,
        name,
      )
  })

  for (const [what, text] of [
    ['the lock', '"lockVersion"'],
    ['metrics and traces', '"mcps_build_info"'],
  ] as const)
    test(`opens nothing of ${what}, which is read where it is configured`, () => {
      for (const name of [/^serve-.*\.js$/, /^gateway-.*\.js$/]) {
        const files = [...loadedWith(entry(name), loadedWith(join(dist, 'cli.js')))]
        const having = files.filter((file) => has(file, text))
        assert.deepEqual(having, [])
      }
      assert(readdirSync(dist).some((name) => name.endsWith('.js') && has(join(dist, name), text)))
    })

  test('loads no module of Node.js that it does not need', () => {
    const empty = new Set(builtinsOf(['--eval', '']))
    const loaded = builtinsOf([join(dist, 'cli.js'), '--stdio']).filter((name) => !empty.has(name))
    assert(loaded.includes('NativeModule child_process'))
    const needless =
      /^NativeModule (?:perf_hooks|http|https|tls|zlib|dns|worker_threads|internal\/(?:mime|util\/parse_args\/.*|deps\/cjs.*))$/
    const unneeded = loaded.filter((name) => needless.test(name))
    assert.deepEqual(unneeded, [])
  })

  test('reads text that the engine keeps in one byte a character, without comments', () => {
    const files = loadedWith(entry(/^serve-.*\.js$/), loadedWith(join(dist, 'cli.js')))
    for (const file of files) {
      const text = readFileSync(file)
      assert(
        text.every((byte) => byte < 0x80),
        file,
      )
      assert.doesNotMatch(text.toString('latin1'), /^ *\/\*\*/m, file)
    }
  })
})

describe('the inspector', () => {
  test('is loaded by no start without --ui, and read whole by one with it', () => {
    const files = loadedWith(entry(/^serve-.*\.js$/), loadedWith(join(dist, 'cli.js')))
    for (const file of files)
      assert.doesNotMatch(readFileSync(file, 'latin1'), /InspectorPages = class/, file)
    assert.match(readFileSync(entry(/^inspect-.*\.js$/), 'latin1'), /InspectorPages = class/)
  })

  test('has a page of at most 40 KB', () => {
    const names = ['index.html', 'app.js', 'app.css']
    const sizes = names.map((name) => gzipSync(readFileSync(join(dist, 'ui', name))).length)
    assert(sizes.reduce((sum, size) => sum + size) <= 40_000, sizes.join(' '))
  })
})

test('the library is few files too, and its part for JSON-RPC loads nothing else', () => {
  assert(loadedWith(join(dist, 'index.js')).size <= 4)
  const core = bytesOf(loadedWith(join(dist, 'jsonrpc/index.js')))
  assert(core * 4 < bytesOf(loadedWith(join(dist, 'index.js'))))
})
