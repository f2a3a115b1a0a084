// Cold start and idle memory, each over an empty Node process.

import { writeFileSync } from 'node:fs'
import { join } from 'node:path'

import { type Figure, type Settings, roundsOf } from './figures.js'
import { residentBytes } from './process-facts.js'
import { type Aim, type Row, atMost } from './report.js'
import { median, roundOrder, spread } from './statistics.js'
import { INITIALIZE, Subject, type SubjectSpec, directSpec, proxySpecs, relaySpec } from './subject.js'

export const ANSWER_LIMIT_MS = 15_000
export const IDLE_MS = 1_000
export const MIB: number = 1024 * 1024

/** Something to start, and what it stands for in the table. */
interface Candidate extends Measurable {
  readonly spec: SubjectSpec
}

export interface Measurable {
  readonly title: string
  readonly aim: Aim | undefined
  /** The title of what stands beside it in the table; the relay unless given. */
  readonly base?: string
}

export const EMPTY = 'empty Node process'
export const SERVER = 'bench server itself'

/** Says a line as soon as its only module runs, and idles on a timer: a stream would load half of Node. */
const EMPTY_PROGRAM = `import { writeSync } from 'node:fs'
writeSync(1, '\\n')
setTimeout(() => {}, 60_000)
`

export function emptySpec(settings: Settings): SubjectSpec {
  const path = join(settings.place.folder, 'empty.mjs')
  writeFileSync(path, EMPTY_PROGRAM)
  return { ...directSpec(), argv: [process.execPath, path] }
}

function candidates(settings: Settings, aim: Aim): Candidate[] {
  // The embedded default is what runs on a machine with nothing configured, with its one child.
  const embedded = { ...directSpec(), argv: [process.execPath, settings.place.cli, '--stdio'] }
  return [
    { title: EMPTY, spec: emptySpec(settings), aim: undefined },
    { title: SERVER, spec: directSpec(), aim: undefined },
    { title: 'relay', spec: relaySpec(), aim: undefined },
    { title: 'proxy, embedded default', spec: embedded, aim },
    ...proxySpecs(settings.place).map((spec) => ({
      title: `${spec.way}, bench server`,
      spec,
      aim: spec.way === 'proxy' ? aim : undefined,
    })),
  ]
}

/** A measured value for each candidate that could be measured, by title. */
export type Round = Map<string, number>

export class Measurements {
  readonly failures: Map<string, string> = new Map()
  readonly rounds: Round[] = []

  async guard(
    candidate: Measurable,
    round: Round,
    measure: () => Promise<number | undefined>,
  ): Promise<void> {
    const { title } = candidate
    if (this.failures.has(title)) return
    try {
      const value = await measure()
      if (value === undefined) this.failures.set(title, 'the kernel does not say')
      else round.set(title, value)
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error)
      this.failures.set(title, reason)
      process.stderr.write(`  ${title}: ${reason}\n`)
    }
  }

  /** Each candidate over the empty process of the same round. */
  rows(figure: string, list: readonly Measurable[], unit: string): Row[] {
    const valuesOf = (title: string) => this.rounds.flatMap((round) => round.get(title) ?? [])
    const shown = (title: string) => {
      const values = valuesOf(title)
      return values.length === 0 ? '' : `${median(values).toFixed(1)} ${unit}`
    }
    return list
      .filter(({ title }) => title !== EMPTY)
      .map(({ title, aim, base = 'relay' }) => {
        const over = this.rounds.flatMap((round) => {
          const own = round.get(title)
          const empty = round.get(EMPTY)
          return own === undefined || empty === undefined ? [] : [own - empty]
        })
        return {
          figure,
          way: title,
          direct: shown(SERVER),
          relay: shown(base),
          own: shown(title),
          spread: over.length === 0 ? undefined : spread(over),
          spreadUnit: unit,
          aim,
          aside: '',
          note: this.failures.get(title) ?? '',
        }
      })
  }
}

/** From the spawn to the whole answer; the empty process is asked nothing and says its line. */
export async function startOnce(candidate: Candidate, settings: Settings): Promise<number> {
  const began = performance.now()
  const subject = Subject.start(candidate.spec, settings.place)
  try {
    await subject.client.ask(candidate.title === EMPTY ? '' : INITIALIZE, ANSWER_LIMIT_MS)
    return performance.now() - began
  } catch (error) {
    throw new Error(subject.explain(error), { cause: error })
  } finally {
    // Its children end before the next start is timed.
    await subject.close(candidate.title === EMPTY)
  }
}

export const start: Figure = async (settings) => {
  const aim = atMost(90, 'ms')
  const list = candidates(settings, aim)
  const measurements = new Measurements()
  const rounds = roundsOf(settings, 20, 4)
  for (const candidate of list)
    await measurements.guard(candidate, new Map(), () => startOnce(candidate, settings))
  for (let n = 0; n < rounds; n += 1) {
    const round: Round = new Map()
    for (const candidate of roundOrder(list, n)) {
      await measurements.guard(candidate, round, () => startOnce(candidate, settings))
    }
    measurements.rounds.push(round)
  }
  const figure = 'cold start to the answer to initialize, over an empty Node process'
  return measurements.rows(figure, list, 'ms')
}

export async function residentOnce(candidate: Candidate, settings: Settings): Promise<number | undefined> {
  const subject = Subject.start(candidate.spec, settings.place)
  try {
    await subject.client.ask(candidate.title === EMPTY ? '' : INITIALIZE, ANSWER_LIMIT_MS)
    await new Promise((resolve) => setTimeout(resolve, IDLE_MS))
    const bytes = residentBytes(subject.pid)
    return bytes === undefined ? undefined : bytes / MIB
  } catch (error) {
    throw new Error(subject.explain(error), { cause: error })
  } finally {
    await subject.close(candidate.title === EMPTY)
  }
}

export const memory: Figure = async (settings) => {
  const aim = atMost(11, 'MB')
  const list = candidates(settings, aim)
  const measurements = new Measurements()
  const rounds = roundsOf(settings, 6, 1)
  for (let n = 0; n < rounds; n += 1) {
    const round: Round = new Map()
    // All at once: an idle neighbour changes nothing in another's resident pages.
    await Promise.all(
      list.map((candidate) => measurements.guard(candidate, round, () => residentOnce(candidate, settings))),
    )
    measurements.rounds.push(round)
  }
  const figure = 'resident memory at idle, over an empty Node process'
  return measurements.rows(figure, list, 'MB')
}
