// The package as its users get it: what package.json promises, and the programs in `examples`.

import assert from 'node:assert'
import { execFile } from 'node:child_process'
import { accessSync, constants, mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, test } from 'node:test'
import { promisify } from 'node:util'
import { version } from '../../src/index.js'
import { at, parsed } from '../integration/support/json.js'
import { memoryArgs } from '../integration/support/programs.js'
import { readSources, root } from '../support/source-text.js'

const run = promisify(execFile)
const home = mkdtempSync(join(tmpdir(), 'package-test-'))
after(() => rmSync(home, { recursive: true, force: true, maxRetries: 10 }))

const read = (path: string): string => readFileSync(join(root, path), 'utf8')

function textsIn(value: unknown): string[] {
  if (typeof value === 'string') return [value]
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(textsIn) : []
}

const manifest = parsed(read('package.json'))

describe('the package', () => {
  test('has the version that the program says', () => {
    assert.equal(at(manifest, 'version'), version)
    assert.match(read('CHANGELOG.md'), new RegExp(`^## ${version.replaceAll('.', '\\.')}\\b`, 'm'))
  })

  test('exports files that exist', () => {
    const files = textsIn(at(manifest, 'exports'))
    assert.equal(files.includes('./dist/index.js'), true)
    for (const file of files) accessSync(join(root, file))
  })

  test('has transcripts that servers of others pass', async () => {
    const count = readdirSync(join(root, 'spec-fixtures/portable')).length
    const args = ['dist/cli.js', 'replay', '--portable', '--', process.execPath, ...memoryArgs]
    const { stdout } = await run(process.execPath, args, { cwd: root })
    assert.match(stdout, new RegExp(`^${count} passed, 0 failed`, 'm'))
  })

  test('checks arguments, as its sources do', async () => {
    const { stdout } = await run(
      process.execPath,
      [
        'dist/cli.js',
        'replay',
        '--trust',
        'spec-fixtures/error-wrong-argument.jsonl',
        'spec-fixtures/argument-checks.jsonl',
      ],
      { cwd: root },
    )
    assert.match(stdout, /2 passed, 0 failed/)
  })

  test('can be imported by its name, whole and in part', async () => {
    const whole = 'mcps-proxy'
    const core = 'mcps-proxy/jsonrpc'
    const script = `
      const whole = await import('${whole}')
      const core = await import('${core}')
      console.log(whole.version, typeof whole.createProxy, typeof whole.memoryPair, typeof core.readFrame)`
    const { stdout } = await run(process.execPath, ['--input-type=module', '-e', script], { cwd: root })
    assert.equal(stdout.trim(), `${version} function function function`)
  })

  test('installs one program under two names', async () => {
    const bins = at(manifest, 'bin')
    assert.deepEqual(bins, { 'mcps-proxy': 'dist/cli.js', 'mcp-all-in-one': 'dist/cli.js' })
    accessSync(join(root, 'dist/cli.js'), constants.X_OK)
    assert.match(read('dist/cli.js'), /^#!\/usr\/bin\/env node\n/)
    const { stdout } = await run(process.execPath, [join(root, 'dist/cli.js'), '--version'])
    assert.equal(stdout, `${version}\n`)
  })

  test('depends at run time on what the sources import, and on nothing else', () => {
    // The page in the browser is bundled whole.
    const sources = readSources('src').filter(({ path }) => !path.startsWith('src/ui/'))
    const imported = sources.flatMap(({ imports }) =>
      imports.flatMap(({ specifier, file }) =>
        file !== undefined || specifier.startsWith('node:') ? [] : [specifier.split('/')[0] ?? ''],
      ),
    )
    const named = ['dependencies', 'optionalDependencies', 'peerDependencies'].flatMap((kind) =>
      Object.keys(Object(at(manifest, kind))).map((name) => name.split('/')[0] ?? ''),
    )
    // The first is loaded by `require` on Windows alone, the second where a person has installed it.
    const late = ['cross-spawn', '@napi-rs']
    assert.deepEqual([...new Set(named)].sort(), [...new Set([...imported, ...late])].sort())
  })
})

describe('the examples', () => {
  test('hello.jsonl: every request is answered', async () => {
    const frames = read('examples/hello.jsonl').trim().split('\n').map(parsed)
    const answered = await answersTo(read('examples/hello.jsonl'))
    const asked = frames.map((frame) => at(frame, 'id')).filter((id) => id !== undefined)
    const ids = answered.map((frame) => Number(at(frame, 'id'))).sort((a, b) => a - b)
    assert.deepEqual(ids, asked)
    const errors = answered.filter((frame) => at(frame, 'error') !== undefined)
    const codes = errors.map((frame) => at(frame, 'error', 'code'))
    assert.deepEqual(codes, [-32601])
  })

  const programs: [string, RegExp][] = [
    [
      'embed',
      /^time time__get_current_time answered true\n\{"jsonrpc":"2\.0","id":1,"result":.*\nthe tap saw every message\n$/,
    ],
    ['trace', /^tools\/call get_current_time 00-4bf92f3577b3 true\n$/],
    ['serve', /^http:\/\/127\.0\.0\.1:\d+\/mcp\n1 opened streamable-http\n200\n1 ended streamable-http\n$/],
  ]
  for (const [name, printed] of programs)
    test(`${name}: prints what it says`, async () => {
      const { stdout } = await run(process.execPath, [join(root, `build/examples/${name}.js`)])
      assert.match(stdout, printed)
    })

  test('audit: nothing differs', async () => {
    const program = join(root, 'build/examples/audit.js')
    const { stdout } = await run(process.execPath, [program])
    assert.match(stdout, /^servers +Time, everything$/m)
    assert.match(stdout, /^nothing differs$/m)
  })
})

/** The answers of the command with the embedded configuration. */
async function answersTo(input: string): Promise<unknown[]> {
  const env = { ...process.env, HOME: home, MCPS_PROXY_CONFIG: '' }
  const child = run(process.execPath, [join(root, 'dist/cli.js'), '--stdio'], { env })
  child.child.stdin?.end(input)
  const { stdout } = await child
  return stdout.trim().split('\n').map(parsed)
}
