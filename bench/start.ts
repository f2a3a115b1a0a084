// Figures of processes that have just started: cold start, the first call, and memory at rest.

import { writeFileSync } from 'node:fs'
import { join } from 'node:path'

import { type Figure, type Settings, roundsOf } from './figures.js'
import { residentBytes } from './process-facts.js'
import { type Aim, type Row, atMost } from './report.js'
import { median, roundOrder, spread } from './statistics.js'
import {
  Subject,
  type SubjectSpec,
  directSpec,
  httpServerSpec,
  legSpecs,
  portFor,
  proxySpecs,
  relaySpec,
  withHttpServer,
} from './subject.js'
import { SMALL_TEXTS, textCall, withId } from './wire.js'

const ANSWER_LIMIT_MS = 15_000
const IDLE_MS = 1_000
const MIB: number = 1024 * 1024
/** How long the client waits between the answer to `initialize` and its first call, as a model takes it to choose one. */
const PAUSE_MS = 200
const CALL_ID = 2

const EMPTY = 'empty Node process'
const SERVER = 'bench server itself'

/** Something to start, and what it stands for in the table. */
interface Candidate {
  readonly title: string
  readonly spec: SubjectSpec
  readonly aim?: Aim | undefined
  /** The title of what stands beside it in the table; the relay unless given. */
  readonly base?: string
}

/** Says a line as soon as its only module runs, and idles on a timer: a stream would load half of Node. */
const EMPTY_PROGRAM = `import { writeSync } from 'node:fs'
writeSync(1, '\\n')
setTimeout(() => {}, 60_000)
`

function empty({ place }: Settings): Candidate {
  const path = join(place.folder, 'empty.mjs')
  writeFileSync(path, EMPTY_PROGRAM)
  return { title: EMPTY, spec: { ...directSpec, toolCount: 0, argv: () => [process.execPath, path] } }
}

function candidates(settings: Settings, aim: Aim): Candidate[] {
  const { place } = settings
  // The embedded default is what runs on a machine with nothing configured, with its one child.
  const embedded = { ...directSpec, argv: () => [process.execPath, place.cli, '--stdio'] }
  return [
    empty(settings),
    { title: SERVER, spec: directSpec },
    { title: 'relay', spec: relaySpec },
    { title: 'proxy, embedded default', spec: embedded, aim },
    ...proxySpecs(place).map((spec) => ({
      title: `${spec.way}, bench server`,
      spec,
      aim: spec.way === 'proxy' ? aim : undefined,
    })),
  ]
}

function httpCandidates(settings: Settings, url: string, aim: Aim): Candidate[] {
  const legs = (['HTTP -> stdio', 'HTTP -> HTTP'] as const).flatMap((leg) =>
    legSpecs(settings.place, leg, url, false)
      .filter(({ way }) => way === 'forwarder' || way === 'proxy')
      .map((spec) => ({
        title: `${spec.way}, ${leg}`,
        spec,
        aim: spec.way === 'proxy' ? aim : undefined,
        base: `forwarder, ${leg}`,
      })),
  )
  return [empty(settings), { title: SERVER, spec: httpServerSpec }, ...legs]
}

type Round = Map<string, number>

/** The measurements of a process that was started at a time. */
type Once = (subject: Subject, began: number) => Promise<number | undefined>

class Measurements {
  readonly #settings: Settings
  readonly #list: readonly Candidate[]
  readonly #once: Once
  readonly #failures: Map<string, string> = new Map()
  readonly #rounds: Round[] = []

  constructor(settings: Settings, list: readonly Candidate[], once: Once) {
    this.#settings = settings
    this.#list = list
    this.#once = once
  }

  /** One after the other, after an unmeasured round. */
  async inTurn(rounds: number): Promise<this> {
    for (let n = -1; n < rounds; n += 1) {
      const round: Round = new Map()
      for (const candidate of roundOrder(this.#list, Math.max(n, 0))) await this.#measure(candidate, round)
      if (n >= 0) this.#rounds.push(round)
    }
    return this
  }

  /** All together: an idle neighbour changes nothing in another's resident pages. */
  async together(rounds: number): Promise<this> {
    for (let n = 0; n < rounds; n += 1) {
      const round: Round = new Map()
      await Promise.all(this.#list.map((candidate) => this.#measure(candidate, round)))
      this.#rounds.push(round)
    }
    return this
  }

  async #measure(candidate: Candidate, round: Round): Promise<void> {
    const { title } = candidate
    if (this.#failures.has(title)) return
    try {
      const value = await this.#started(candidate)
      if (value === undefined) this.#failures.set(title, 'the kernel does not say')
      else round.set(title, value)
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error)
      this.#failures.set(title, reason)
      process.stderr.write(`  ${title}: ${reason}\n`)
    }
  }

  async #started({ spec }: Candidate): Promise<number | undefined> {
    const port = await portFor(spec)
    const began = performance.now()
    const subject = Subject.start(spec, this.#settings.place, port)
    try {
      return await this.#once(subject, began)
    } catch (error) {
      throw new Error(subject.explain(error), { cause: error })
    } finally {
      // Its children end before the next start is timed.
      await subject.close()
    }
  }

  /** Each candidate over one of them in the same round. */
  rows(figure: string, unit: string, over: string): Row[] {
    const valuesOf = (title: string) => this.#rounds.flatMap((round) => round.get(title) ?? [])
    const shown = (title: string) => {
      const values = valuesOf(title)
      return values.length === 0 ? '' : `${median(values).toFixed(1)} ${unit}`
    }
    return this.#list
      .filter(({ title }) => title !== over)
      .map(({ title, aim, base = 'relay' }) => {
        const added = this.#rounds.flatMap((round) => {
          const [own, less] = [round.get(title), round.get(over)]
          return own === undefined || less === undefined ? [] : [own - less]
        })
        return {
          figure,
          way: title,
          direct: shown(SERVER),
          relay: shown(base),
          own: shown(title),
          spread: added.length === 0 ? undefined : spread(added),
          spreadUnit: unit,
          aim,
          note: this.#failures.get(title) ?? '',
        }
      })
  }
}

/** From the spawn to the whole answer. */
const startOnce: Once = async (subject, began) => {
  await subject.answered()
  return performance.now() - began
}

const residentOnce: Once = async (subject) => {
  await subject.answered()
  await new Promise((resolve) => setTimeout(resolve, IDLE_MS))
  const bytes = residentBytes(subject.pid)
  return bytes === undefined ? undefined : bytes / MIB
}

/** From the first `tools/call` to its answer. */
const callOnce: Once = async (subject) => {
  await subject.initialized()
  await new Promise((resolve) => setTimeout(resolve, PAUSE_MS))
  const [text = Buffer.alloc(0)] = SMALL_TEXTS
  const call = withId(textCall('id first', subject.tool('echo'), text), CALL_ID)
  const began = performance.now()
  const answer = await subject.client.ask(call, ANSWER_LIMIT_MS)
  const ms = performance.now() - began
  if (!answer.includes(text)) throw new Error(`the call failed: ${answer.toString('utf8', 0, 300)}`)
  return ms
}

export const start: Figure = async (settings) => {
  const list = candidates(settings, atMost(90, 'ms'))
  const measured = await new Measurements(settings, list, startOnce).inTurn(roundsOf(settings, 20, 4))
  return measured.rows('cold start to the answer to initialize, over an empty Node process', 'ms', EMPTY)
}

export const memory: Figure = async (settings) => {
  const list = candidates(settings, atMost(11, 'MB'))
  const measured = await new Measurements(settings, list, residentOnce).together(roundsOf(settings, 6, 1))
  return measured.rows('resident memory at idle, over an empty Node process', 'MB', EMPTY)
}

export const firstCall: Figure = async (settings) => {
  const list = [relaySpec, ...proxySpecs(settings.place)].map((spec) => ({
    title: spec.way,
    spec,
    aim: spec.way === 'proxy' ? atMost(20, 'ms') : undefined,
  }))
  const measured = await new Measurements(settings, list, callOnce).inTurn(roundsOf(settings, 12, 3))
  const figure = `first tools/call after initialize, ${PAUSE_MS} ms later, over the relay`
  return measured.rows(figure, 'ms', 'relay')
}

export const httpStart: Figure = (settings) =>
  withHttpServer(settings.place, async (url) => {
    const list = httpCandidates(settings, url, atMost(100, 'ms'))
    const measured = await new Measurements(settings, list, startOnce).inTurn(roundsOf(settings, 20, 4))
    const figure = 'HTTP: cold start to the first answer of /health, over an empty Node process'
    return measured.rows(figure, 'ms', EMPTY)
  })

export const httpMemory: Figure = (settings) =>
  withHttpServer(settings.place, async (url) => {
    const list = httpCandidates(settings, url, atMost(16, 'MB'))
    const measured = await new Measurements(settings, list, residentOnce).together(roundsOf(settings, 6, 1))
    return measured.rows('HTTP: resident memory at idle, over an empty Node process', 'MB', EMPTY)
  })
