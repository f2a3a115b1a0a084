// From the command to the whole first `tools/list`, which is when a client has something to show.
//
// A client that does not know which revisions we speak may first ask that of a copy of the process, which it ends
// when it has the answer.

import { type Figure, NOT_BUILT, type Settings, roundsOf } from './figures.js'
import { type Row, atMost, emptyRow } from './report.js'
import { ANSWER_LIMIT_MS, Measurements, type Measurable, type Round } from './start.js'
import { median, roundOrder, spread } from './statistics.js'
import {
  INITIALIZE,
  INITIALIZED,
  Subject,
  type SubjectSpec,
  countTools,
  otherSpec,
  proxySpec,
  relaySpec,
} from './subject.js'

const LIST = '{"jsonrpc":"2.0","id":2,"method":"tools/list"}\n'

const META = 'io.modelcontextprotocol'
const claim = { [`${META}/protocolVersion`]: '2026-07-28', [`${META}/clientCapabilities`]: {} }
const DISCOVER = `${JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'server/discover', params: { _meta: claim } })}\n`

interface Candidate extends Measurable {
  readonly spec: SubjectSpec
  /** Whether a copy is asked first. */
  readonly asksCopy: boolean
}

function candidates({ place }: Settings): Candidate[] {
  const proxies = [...fresh(proxySpec(place, true)), ...fresh(otherSpec(place))]
  return [
    { title: 'relay', spec: relaySpec(place), asksCopy: false, aim: undefined },
    ...proxies.flatMap((spec) => [
      { title: spec.way, spec, asksCopy: false, aim: undefined },
      { title: copyTitle(spec.way), spec, asksCopy: true, aim: undefined },
    ]),
  ]
}

/** Lists that an earlier round has kept would be another figure. */
function fresh(spec: SubjectSpec | undefined): SubjectSpec[] {
  return spec === undefined ? [] : [{ ...spec, argv: [...spec.argv, '--no-kept-lists'] }]
}

function copyTitle(way: string): string {
  return `${way}, behind a copy`
}

async function askCopy({ spec }: Candidate, settings: Settings): Promise<void> {
  const copy = Subject.start(spec, settings.place)
  try {
    await copy.client.ask(DISCOVER, ANSWER_LIMIT_MS)
  } catch (error) {
    throw new Error(copy.explain(error), { cause: error })
  } finally {
    await copy.close()
  }
}

async function listOnce(candidate: Candidate, settings: Settings): Promise<number> {
  const began = performance.now()
  if (candidate.asksCopy) await askCopy(candidate, settings)
  const { spec } = candidate
  const subject = Subject.start(spec, settings.place)
  try {
    await subject.client.ask(INITIALIZE, ANSWER_LIMIT_MS)
    subject.client.tell(INITIALIZED)
    const listed = countTools(await subject.client.ask(LIST, ANSWER_LIMIT_MS))
    if (listed !== spec.toolCount) throw new Error(`${listed} of ${spec.toolCount} tools listed`)
    return performance.now() - began
  } catch (error) {
    throw new Error(subject.explain(error), { cause: error })
  } finally {
    await subject.close()
  }
}

/** One way over another, round by round. */
function row(measured: Measurements, figure: string, way: string, base: string, own: string): Row {
  const shown = (title: string): string => {
    const values = measured.rounds.flatMap((round) => round.get(title) ?? [])
    return values.length === 0 ? '' : `${median(values).toFixed(1)} ms`
  }
  const ratios = measured.rounds.flatMap((round) => {
    const [value, against] = [round.get(own), round.get(base)]
    return value === undefined || against === undefined ? [] : [value / against]
  })
  return {
    figure,
    way,
    direct: '',
    relay: shown(base),
    own: shown(own),
    spread: ratios.length === 0 ? undefined : spread(ratios),
    spreadUnit: '',
    aim: undefined,
    aside: '',
    note: measured.failures.get(own) ?? '',
  }
}

const FIGURE = 'cold start to the first tools/list'

export const firstList: Figure = async (settings) => {
  const list = candidates(settings)
  const measured = new Measurements()
  const rounds = roundsOf(settings, 20, 4)
  for (const candidate of list)
    await measured.guard(candidate, new Map(), () => listOnce(candidate, settings))
  for (let n = 0; n < rounds; n += 1) {
    const round: Round = new Map()
    for (const candidate of roundOrder(list, n))
      await measured.guard(candidate, round, () => listOnce(candidate, settings))
    measured.rounds.push(round)
  }
  const ways = list.filter(({ title, asksCopy }) => title !== 'relay' && !asksCopy).map(({ title }) => title)
  if (ways.length === 0) return [emptyRow(FIGURE, 'proxy', atMost(1), NOT_BUILT)]
  const builds = ['proxy', copyTitle('proxy')] as const
  return [
    ...ways.map((way) => row(measured, `${FIGURE}, over the relay`, way, 'relay', way)),
    ...ways.map((way) =>
      row(measured, `${FIGURE} behind a copy, over one without`, way, way, copyTitle(way)),
    ),
    ...(ways.length < 2
      ? []
      : builds.map((own) =>
          row(measured, `${FIGURE}, over the other build`, own, own.replace('proxy', ways[1] ?? ''), own),
        )),
  ]
}
