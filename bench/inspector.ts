// What `--ui` costs small calls over stdio: while no page is open, and while one reads every message.

import { readFileSync } from 'node:fs'
import { request } from 'node:http'
import { homedir } from 'node:os'
import { join } from 'node:path'

import { alternate } from './alternate.js'
import { type Figure, NOT_BUILT, remembered, roundsOf, sample, smallCalls, warmUpsOf } from './figures.js'
import { type Row, atMost, emptyRow, ratiosOf, valuesOf } from './report.js'
import { median, spread } from './statistics.js'
import { type Subject, type SubjectSpec, type Way, proxySpec } from './subject.js'

const PLAIN: Way = 'proxy'
const UNSEEN: Way = 'proxy, --ui'
const SEEN: Way = 'proxy, --ui and a page'

/** Without a page it is within noise. With one that reads all that it gets, nine tenths of the calls remain at saturation. */
const aims = new Map<Way, number>([
  [UNSEEN, 1.05],
  [SEEN, 1.11],
])

const RUN_LIMIT_MS = 60_000

export const inspector: Figure = async (settings) => {
  const figure = 'processor time of a small call with --ui / without'
  const plain = proxySpec(settings.place, true)
  if (plain === undefined) return [emptyRow(figure, 'proxy', atMost(1), NOT_BUILT)]
  const withPage = (way: Way): SubjectSpec => ({ ...plain, way, argv: [...plain.argv, '--ui'] })
  const count = settings.quick ? 5000 : 20_000
  const slabOf = remembered((subject) => smallCalls(settings, subject, count))
  const cost = async (subject: Subject): Promise<number> => {
    const load = { slab: slabOf(subject), inflightMax: 64, timeLimitMs: RUN_LIMIT_MS }
    const { cpuSeconds = Number.NaN } = await sample(subject, load)
    return (cpuSeconds * 1e6) / count
  }
  const outcome = await alternate([plain, withPage(UNSEEN), withPage(SEEN)], settings.place, {
    rounds: roundsOf(settings, 30, 8),
    generations: settings.quick ? 1 : 2,
    warm: async (subject) => {
      if (subject.way === SEEN) read(subject.pid)
      for (let n = 0; n < warmUpsOf(settings, 160_000, count); n += 1) await cost(subject)
    },
    measure: cost,
  })
  return [UNSEEN, SEEN].map((way): Row => {
    const ratios = ratiosOf(outcome, [way, PLAIN], Number, ([a = Number.NaN, b = Number.NaN]) => a / b)
    const shown = (which: Way): string => `${median(valuesOf(outcome, which, Number)).toFixed(1)} µs`
    return {
      figure,
      way: `${way}, without: ${shown(PLAIN)}`,
      direct: '',
      relay: '',
      own: shown(way),
      spread: ratios.length === 0 ? undefined : spread(ratios),
      spreadUnit: '',
      aim: atMost(aims.get(way) ?? 1),
      aside: '',
      note: outcome.failures.get(way) ?? outcome.failures.get(PLAIN) ?? '',
    }
  })
}

/** Reads the feed as a page does, until the proxy ends. */
function read(pid: number): void {
  const address = readFileSync(join(homedir(), '.mcps-proxy/ui', String(pid)), 'utf8')
  const [, origin, key] = /^(http:\/\/[^/]+)\/ui\/#key=(\S+)$/.exec(address) ?? []
  const feed = request(`${origin}/ui/feed`, { headers: { authorization: `Bearer ${key}` } })
  feed.on('response', (response) => response.resume())
  feed.on('error', () => undefined)
  feed.end()
}
