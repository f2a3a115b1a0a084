// The verdict for each input: `problems.jsonl` has invalid ones, and `settings.jsonl` the resulting settings of a
// server. A row has `value`, a whole file, or `server`, its only server `s`, and the variables in `env`.

import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { resolveConfig } from '../../src/config/config.js'
import { configJsonSchema } from '../../src/config/json-schema.js'
import { ConfigError } from '../../src/config/problems.js'
import { isObject } from '../../src/text/json-object.js'
import { at, parsed } from '../integration/support/json.js'
import { root } from '../integration/support/programs.js'

interface Row {
  readonly title: string
  readonly value?: unknown
  readonly server?: unknown
  readonly config?: object
  readonly env?: Readonly<Record<string, string>>
  /** The row applies to Linux only. */
  readonly linux?: boolean
  /** Whether `config.schema.json` accepts an input with a problem or a warning; false for a setting that it refuses. */
  readonly editor?: boolean
}

/** Each problem is `path problem; hint`, and each warning `path message`. A valid input has neither. */
interface Judged extends Row {
  readonly problems?: readonly string[]
  readonly warnings?: readonly string[]
}

/** Settings of the server by their path. Null means undefined. */
interface Settled extends Row {
  readonly is: Readonly<Record<string, unknown>>
}

function rowsOf<T extends Row>(file: string): T[] {
  const lines = readFileSync(join(root, 'test/config', file), 'utf8')
    .trimEnd()
    .split('\n')
  const rows = lines.map((line): T => JSON.parse(line))
  return rows.filter(({ linux }) => linux !== true || process.platform === 'linux')
}

const valueOf = ({ value, server, config }: Row): unknown =>
  server === undefined ? value : { ...config, mcpServers: { s: server } }

const resolved = (row: Row): ReturnType<typeof resolveConfig> =>
  resolveConfig(valueOf(row), { source: 'memory', folder: '/work', env: row.env ?? {}, home: '/home/me' })

const shown = (warnings: ConfigError['warnings']): string[] =>
  warnings.map(({ path, message }) => `${path} ${message}`)

function judged(row: Row): Pick<Judged, 'problems' | 'warnings'> {
  try {
    return { problems: [], warnings: shown(resolved(row).warnings) }
  } catch (error) {
    assert(error instanceof ConfigError, String(error))
    const problems = error.problems.map(({ path, problem, hint }) => `${path} ${problem}; ${hint}`)
    return { problems, warnings: shown(error.warnings) }
  }
}

const validate = new Ajv2020({ strict: true, strictRequired: false, allErrors: true }).compile({
  ...configJsonSchema(),
})

for (const row of rowsOf<Judged>('problems.jsonl')) {
  const { title, problems = [], warnings, editor } = row
  test(`a configuration: ${title}: ${JSON.stringify(row.server ?? row.value).slice(0, 60)}`, () => {
    const found = judged(row)
    assert.deepEqual(found.problems, problems)
    if (warnings !== undefined || problems.length === 0) assert.deepEqual(found.warnings, warnings ?? [])
    const isRight = problems.length === 0 && warnings === undefined
    assert.equal(validate(valueOf(row)), isRight || editor === true, 'what an editor says')
  })
}

const plain = (_key: string, value: unknown): unknown =>
  value instanceof Map ? Object.fromEntries(value) : value

for (const row of rowsOf<Settled>('settings.jsonl'))
  test(`a server: ${row.title}: ${JSON.stringify(row.server).slice(0, 60)}`, () => {
    const [server] = resolved(row).schemas.get('default')?.servers ?? []
    const settings = parsed(JSON.stringify(server, plain))
    for (const [path, want] of Object.entries(row.is))
      assert.deepEqual(at(settings, ...path.split('.')) ?? null, want, path)
    assert.equal(validate(valueOf(row)), row.editor ?? true, 'what an editor says')
  })

test('config.schema.json and docs/configuration.md are what `node scripts/config-schema.mjs` writes, and every key has a sentence', () => {
  const { status, stderr } = spawnSync(process.execPath, ['scripts/config-schema.mjs', '--check'], {
    cwd: root,
    encoding: 'utf8',
  })
  assert.equal(status, 0, stderr)
  const without: string[] = []
  const visit = (value: unknown, path: string): void => {
    for (const [key, each] of isObject(value) ? Object.entries(value) : []) {
      const isKey = path.endsWith('.properties') && key !== '$comment'
      if (isKey && isObject(each) && each['description'] === undefined && each['$ref'] === undefined)
        without.push(`${path}.${key}`)
      visit(each, `${path}.${key}`)
    }
  }
  visit(parsed(readFileSync(join(root, 'config.schema.json'), 'utf8')), '')
  assert.deepEqual(without, [])
})
