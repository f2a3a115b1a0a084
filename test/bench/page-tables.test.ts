// The page with the figures and the tables that `npm run bench` prints.

import assert from 'node:assert'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { pageTables, pageTitles } from '../../bench/page-tables.js'
import { type Row, atLeast, atMost } from '../../bench/report.js'
import { root } from '../support/source-text.js'

function row(figure: string, way: string, median: number, aim: Row['aim']): Row {
  const scale = { direct: '', relay: '', own: '', aside: '', note: '' }
  const spread = { median, min: median, max: median, count: 1 }
  return { figure, way, ...scale, spread, spreadUnit: aim?.unit ?? '', aim }
}

describe('the tables of the page with the figures', () => {
  test('have the lines that the page has', () => {
    const text = readFileSync(join(root, 'bench/README.md'), 'utf8')
    assert.deepEqual(
      pageTitles.filter((title) => !text.includes(`| ${title} |`)),
      [],
    )
  })

  test('show what a run has measured', () => {
    const rows = [
      row('small calls, 64 in flight, throughput', 'relay / direct', 0.9, undefined),
      row('small calls, 64 in flight, throughput', 'proxy', 0.421, atLeast(0.6)),
      row('1 MB results, id first, throughput', 'proxy', 0.76, atLeast(0.95)),
      row('1 MB results, id last, throughput', 'proxy', 0.78, atLeast(0.95)),
      row(
        'HTTP: cold start to the first answer of /health, over an empty Node process',
        'proxy, HTTP -> HTTP',
        120.4,
        atMost(100, 'ms'),
      ),
    ]
    assert.equal(
      pageTables(rows),
      [
        '| figure | proxy | aim |',
        '|---|---|---|',
        '| small calls, 64 in flight, throughput / relay | 0.42 | >= 0.6 |',
        '| 1 MB results, `id` first / last, throughput / relay | 0.76 / 0.78 | >= 0.95 |',
        '',
        '| figure | HTTP -> stdio | stdio -> HTTP | HTTP -> HTTP | aim |',
        '|---|---|---|---|---|',
        '| cold start to the first answer of `/health`, over an empty Node process | - | - | 120.4 ms | <= 100 ms |',
        '',
      ].join('\n'),
    )
  })
})
