// The documents: their examples work, their tables name what the sources have, their links lead somewhere.

import assert from 'node:assert/strict'
import { execFile, spawnSync } from 'node:child_process'
import { chmodSync, cpSync, existsSync, readFileSync, readdirSync, writeFileSync } from 'node:fs'
import { delimiter, dirname, join, normalize } from 'node:path'
import process from 'node:process'
import { describe, test } from 'node:test'
import { promisify } from 'node:util'
import { clients } from '../../src/cli/clients/table.js'
import { readArguments } from '../../src/cli/commands.js'
import { resolveConfig } from '../../src/config/config.js'
import { configJsonSchema } from '../../src/config/json-schema.js'
import { createProxy, editReasons, httpServer } from '../../src/index.js'
import { parseTranscripts } from '../../src/replay/transcript.js'
import { leaveHome } from '../integration/support/home.js'
import { cli } from '../integration/support/programs.js'
import { scratch } from '../integration/support/spawned.js'
import { HANG_MS } from '../integration/support/waiting.js'
import { withCommands } from '../support/reference.js'
import { root, sourcePaths } from '../support/source-text.js'

leaveHome()
const run = promisify(execFile)
const read = (path: string): string => readFileSync(join(root, path), 'utf8')

const pages = readdirSync(join(root, 'docs'))
  .filter((name) => name.endsWith('.md'))
  .map((name) => `docs/${name}`)
const documents = ['README.md', 'ARCHITECTURE.md', 'CHANGELOG.md', 'CONTRIBUTING.md', 'SECURITY.md', ...pages]
const decisions = readdirSync(join(root, 'docs/decisions')).map((name) => `docs/decisions/${name}`)

/** A block between fences. */
interface Block {
  readonly file: string
  readonly language: string
  readonly text: string
}

const blocks = documents.flatMap((file): Block[] =>
  [...read(file).matchAll(/^```(\w*)\n([^]*?)^```$/gm)].map(([, language = '', text = '']) => ({
    file,
    language,
    text,
  })),
)

const titleOf = ({ file, text }: Block): string => `${file}: ${text.split('\n')[0] ?? ''}`
const blocksOf = (language: string): Block[] => blocks.filter((block) => block.language === language)

describe('examples in the documents', () => {
  test('are in languages that are checked here', () =>
    assert.deepEqual([...new Set(blocks.map(({ language }) => language))].sort(), [
      '',
      // Of reverse proxies: test/system tries them with other settings.
      'caddy',
      'haproxy',
      'json',
      'jsonl',
      'nginx',
      'sh',
      'ts',
    ]))

  for (const block of blocksOf('json'))
    test(`configuration of ${titleOf(block)}`, () => {
      const context = { source: block.file, folder: root, env: { SEARCH_API_KEY: 'secret' } }
      assert.deepEqual(resolveConfig(JSON.parse(block.text), context).warnings, [])
    })

  for (const block of blocksOf('jsonl'))
    test(`transcript of ${titleOf(block)}`, () => {
      const header = block.text.startsWith('{"mcps"') ? '' : '{"mcps":1}\n'
      assert.ok(parseTranscripts(block.file, Buffer.from(header + block.text)).length > 0)
    })

  for (const [language, file] of [
    ['haproxy', 'haproxy.cfg'],
    ['nginx', 'nginx.conf'],
  ] as const)
    test(`lines of docs/scale.md for ${language} are in the file that is run`, () => {
      const [block, ...others] = blocksOf(language).filter(({ file }) => file === 'docs/scale.md')
      assert.ok(block !== undefined && others.length === 0)
      assert.ok(read(`examples/deploy/${file}`).includes(block.text))
    })

  const programs = readdirSync(join(root, 'examples'))
    .filter((name) => name.endsWith('.ts'))
    .map((name) => read(`examples/${name}`))
  for (const block of blocksOf('ts'))
    test(`program of ${titleOf(block)} is part of an example that is run`, () =>
      assert.ok(programs.some((program) => program.includes(block.text))))
})

/** Words as a shell makes them, of a line without variables. */
function wordsOf(line: string): string[] {
  return [...line.matchAll(/'([^']*)'|"([^"]*)"|(\S+)/g)].map(([, a, b, c]) => a ?? b ?? c ?? '')
}

/** The arguments of a command line; those of a synopsis have brackets, and names that stand for values. */
function argumentsOf(line: string): string[] {
  const [command = ''] = line.split(/ {2,}| < | \| /)
  const plain = command
    .replace(/[[\]]|\.\.\./g, '')
    .replace(/\bN\b/, '1')
    .replace(/ URL\b/, ' https://host/mcp')
    .replace(/help COMMAND\b/, 'help call')
  return wordsOf(plain).slice(1)
}

describe('command lines in the documents', () => {
  const inBlocks = [...blocksOf('sh'), ...blocksOf('')].flatMap(({ text }) =>
    text.split('\n').filter((line) => line.startsWith('mcps-proxy ')),
  )
  const inSentences = documents.flatMap((file) =>
    [...read(file).matchAll(/`(mcps-proxy (?:-|help)[^`]*)`/g)].map(([, line = '']) => line),
  )
  for (const line of new Set([...inBlocks, ...inSentences]))
    test(line, async () => assert.doesNotReject(readArguments(argumentsOf(line))))

  test('npm run has what they say', () => {
    const { scripts } = Object(JSON.parse(read('package.json')))
    const named = documents.flatMap((file) =>
      [...read(file).matchAll(/npm run (?:--silent |-s )?([a-z:]+)/g)].map(([, name = '']) => name),
    )
    assert.ok(named.length > 10)
    const unknown = [...new Set(named)].filter((name) => !Object.hasOwn(scripts, name))
    assert.deepEqual(unknown, [])
  })
})

test('the test files that CONTRIBUTING.md runs are there', () => {
  const tests = sourcePaths('test').map((path) => path.replace(/\.test\.ts$/, ''))
  const named = [...read('CONTRIBUTING.md').matchAll(/npm run t -- ([^`\n]*)/g)].flatMap(([, words = '']) =>
    words.split(' ').filter((word) => word.includes('/')),
  )
  assert.ok(named.length > 2)
  const missing = named.filter(
    (name) => !tests.some((path) => path.endsWith(name.replace(/\.test\.ts$/, ''))),
  )
  assert.deepEqual(missing, [])
})

const time = { command: process.execPath, args: [join(root, 'build/src/servers/time.js')] }
const hasCurl = spawnSync('curl', ['--version']).error === undefined

function example(file: string, start: string): string {
  return (
    blocks.find((block) => block.file === file && block.text.startsWith(start))?.text ??
    assert.fail(`${file} has no example that starts with ${start}`)
  )
}

/** Gives stdout and stderr; fails when a command fails. */
async function shell(folder: string, script: string): Promise<string> {
  const program = join(folder, 'mcps-proxy')
  writeFileSync(program, `#!/bin/sh\nexec "${process.execPath}" "${cli}" "$@"\n`)
  chmodSync(program, 0o755)
  const env = { ...process.env, PATH: `${folder}${delimiter}${process.env['PATH'] ?? ''}` }
  const { stdout, stderr } = await run('sh', ['-ec', script], { cwd: folder, env, timeout: HANG_MS })
  return stdout + stderr
}

describe('shell examples that are run', () => {
  const asked: [string, string, RegExp][] = [
    ['README.md', 'curl', /"time__get_current_time"[^]*"schemas"/],
    ['docs/http.md', 'U=', /"time__get_current_time"/],
  ]
  for (const [file, start, answer] of asked)
    test(`requests of ${file}`, { skip: hasCurl ? false : 'curl is not installed' }, async (t) => {
      const proxy = await createProxy({ mcpServers: { time } })
      t.after(() => proxy.close())
      const { url } = await proxy.serve(httpServer({ port: 0 }))
      const script = example(file, start).replaceAll('http://127.0.0.1:3095', new URL(url).origin)
      assert.match(await shell(scratch(t), script), answer)
    })

  test('a session is recorded and replayed', async (t) => {
    const folder = scratch(t)
    cpSync(join(root, 'examples/hello.jsonl'), join(folder, 'examples/hello.jsonl'))
    const [record = '', replay = ''] = example('docs/replay.md', 'mcps-proxy --stdio').split('\n')
    await shell(folder, record)
    assert.match(await shell(folder, replay), /^1 passed, 0 failed/m)
  })

  test('configurations are checked', async (t) => {
    const folder = scratch(t)
    writeFileSync(join(folder, 'config.json'), JSON.stringify({ mcpServers: { time } }))
    const told = await shell(folder, example('docs/command-line.md', 'mcps-proxy --check'))
    assert.equal([...told.matchAll(/ 0 warnings(?:;.*)?$/gm)].length, 3, told)
  })
})

describe('tables in the documents', () => {
  test('have the commands of the program', async () => {
    const path = 'docs/command-line.md'
    const wanted = await withCommands(read(path))
    // UPDATE=1 writes them.
    if (process.env['UPDATE'] === '1') writeFileSync(join(root, path), wanted)
    assert.equal(read(path), wanted)
  })

  test('have every client that import knows', () => {
    const told = read('docs/clients.md')
    for (const { name } of clients) assert.match(told, new RegExp(`^\\| \`${name}\``, 'm'))
  })

  test('have every key of the configuration', () => {
    const pages = [
      'docs/configuration.md',
      'docs/sandboxed-servers.md',
      'docs/front-login.md',
      'docs/lock.md',
      'docs/login.md',
    ]
    const told = pages.map(read).join('')
    const undocumented = [...keysOf(configJsonSchema())].filter(
      (key) => !new RegExp(`\`(?:server\\.)?${key.replace('$', '\\$')}\``).test(told),
    )
    assert.deepEqual(undocumented, [])
  })

  test('have every error number and every reason', () => {
    const told = read('docs/errors.md')
    const source = read('src/mcp/error-codes.ts')
    const used = new Set([...source.matchAll(/\brow\(\s*([A-Z_]+)/g)].map(([, name = '']) => name))
    const numbers = [...source.matchAll(/^const (\w+) = (-?\d+)$/gm)].flatMap(([, name = '', number = '']) =>
      used.has(name) ? [` ${number} `] : [],
    )
    const reasons = [...source.matchAll(/(?:^ {2}\| |\breason: |^const RATE_LIMITED = )'([a-z-]+)'/gm)].map(
      ([, reason]) => `\`${reason}\``,
    )
    assert.ok(numbers.length >= 9 && reasons.length >= 13)
    const unnamed = [...numbers, ...reasons].filter(
      (text) => !told.replaceAll(',', ' ,').replaceAll('`,', '`').includes(text),
    )
    assert.deepEqual(unnamed, [])
  })

  test('have every edit, in its order', () => {
    const printed = documents
      .flatMap((page) => read(page).split(/^## /m))
      .map((section) => [...section.matchAll(/^\| `([a-z-]+)` \|/gm)].map(([, reason]) => reason))
    assert.ok(printed.some((reasons) => reasons.join(' ') === [...editReasons].join(' ')))
  })

  test('have every event', () => {
    const told = read('docs/library.md')
    const [, events = ''] =
      /export interface ProxyEvents \{([^]*?)\n\}/.exec(read('src/events/proxy-events.ts')) ?? []
    const names = [...events.matchAll(/readonly (\w+):/g)].map(([, name = '']) => name)
    assert.ok(names.length >= 7)
    const missing = names.filter((name) => !told.includes(`\n| \`${name}\` |`))
    assert.deepEqual(missing, [])
  })
})

/** The names of all members that a schema describes. */
function keysOf(schema: unknown): Set<string> {
  const keys = new Set<string>()
  const visit = (value: unknown): void => {
    if (typeof value !== 'object' || value === null) return
    for (const [name, each] of Object.entries(value)) {
      if (name === 'properties') for (const key of Object.keys(Object(each))) keys.add(key)
      visit(each)
    }
  }
  visit(schema)
  return keys
}

/** Headings as links name them. */
function anchorsOf(file: string): Set<string> {
  const headings = [
    ...read(file)
      .replaceAll(/^```[^]*?^```$/gm, '')
      .matchAll(/^#+ (.+)$/gm),
  ]
  return new Set(
    headings.map(([, title = '']) =>
      title
        .toLowerCase()
        .replaceAll(/[^\w -]/g, '')
        .replaceAll(' ', '-'),
    ),
  )
}

interface Link {
  readonly text: string
  readonly path: string
  readonly anchor: string
}

function linksOf(file: string): Link[] {
  return [...read(file).matchAll(/\]\((?!https?:)([^)#\s]*)(?:#([^)]*))?\)/g)].map(
    ([text, to = '', anchor = '']) => ({
      text,
      path: to === '' ? file : normalize(join(dirname(file), to)),
      anchor,
    }),
  )
}

describe('links in the documents', () => {
  const { files } = Object(JSON.parse(read('package.json')))
  const packaged: readonly string[] = ['README.md', 'LICENSE', 'package.json', ...files]

  for (const file of [...documents, ...decisions])
    test(file, () => {
      for (const { text, path, anchor } of linksOf(file)) {
        assert.ok(existsSync(join(root, path)), `${text} leads nowhere`)
        assert.ok(anchor === '' || anchorsOf(path).has(anchor), `${text} has no such heading`)
        assert.ok(
          packaged.some((each) => path === each || path.startsWith(`${each}/`)),
          `${text} is not in the package`,
        )
      }
    })
})

describe('files that the documents name', () => {
  const files = ['src', 'test', 'bench'].flatMap((folder) => sourcePaths(folder).map((path) => `/${path}`))
  for (const page of ['ARCHITECTURE.md', 'CONTRIBUTING.md', 'bench/README.md', ...decisions])
    test(`exist: ${page}`, () => {
      const named = [...read(page).matchAll(/`((?:[a-z0-9.-]+\/)*[a-z0-9-][a-z0-9.-]*\.(?:ts|mjs))`/g)].map(
        ([, name = '']) => name,
      )
      const missing = named.filter(
        (name) => !existsSync(join(root, name)) && !files.some((file) => file.endsWith(`/${name}`)),
      )
      assert.deepEqual(missing, [])
    })
})
