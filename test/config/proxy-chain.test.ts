import { strict as assert } from 'node:assert'
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { pathToFileURL } from 'node:url'
import { loopProblems, selfStartVariables, refuseLoop } from '../../src/config/proxy-chain.js'
import { resolveConfig } from '../../src/config/config.js'
import type { Configuration } from '../../src/config/configuration.js'

const folder = mkdtempSync(join(tmpdir(), 'mcps-chain-'))
after(() => rmSync(folder, { recursive: true, force: true, maxRetries: 10 }))

const file = join(folder, 'config.json')
const alias = join(folder, 'alias.json')
const copy = join(folder, 'copy.json')
for (const path of [file, copy]) writeFileSync(path, '{}')
symlinkSync(file, alias)

const of = (source: string): Configuration =>
  resolveConfig({ mcpServers: {} }, { source, folder, env: {}, home: '/' })
const link = (path: string, schema = 'default'): string => `${pathToFileURL(path).href}#${schema}`
const elsewhere = (count: number): string =>
  Array.from({ length: count }, (_, at) => link(`/elsewhere/${at}.json`)).join(' ')

const again = /is served already by the proxy that started this one.*MCPS_PROXY_CHAIN/
const cases: readonly (readonly [
  title: string,
  source: string,
  above: string,
  problem: RegExp | undefined,
])[] = [
  ['the file is above', file, link(file), again],
  ['the file is above under another name', alias, link(file), again],
  ['a file of the same text is above', copy, link(file), undefined],
  ['another schema of the file is above', file, link(file, 'other'), undefined],
  ['it is the eighth of a chain', file, elsewhere(7), undefined],
  ['it is the ninth of a chain', file, elsewhere(8), /9th proxy in a chain .* there may be 8/],
  ['the variable is very long', file, 'x '.repeat(50_000), /th proxy in a chain/],
]

for (const [title, source, above, problem] of cases)
  test(`a start below proxies ${problem === undefined ? 'goes on' : 'is refused'} where ${title}`, () => {
    const env = { MCPS_PROXY_CHAIN: above }
    const start = (): void => refuseLoop(of(source), ['default'], env)
    if (problem === undefined) start()
    else assert.throws(start, problem)
    const told = loopProblems(of(source), ['default'], env).map((each) => `${each.problem}; ${each.hint}`)
    assert.equal(told.length, problem === undefined ? 0 : 1)
  })

test('a start below proxies gives its servers the chain with its own schema at the end', () => {
  const above = link('/a.json')
  const marks = selfStartVariables(of(alias), 'b', { MCPS_PROXY_CHAIN: above })
  assert.deepEqual(marks, { MCPS_PROXY_CHAIN: `${above} ${link(file, 'b')}` })
})
