// The first `tools/call` of a process that has just started, and what it holds in memory then.
//
// Nothing is warm here, which is what a person waits for: the call comes as soon as the tools
// are listed, or a while later, as a model takes it to choose one.

import { type Figure, NOT_BUILT, type Settings, roundsOf } from './figures.js'
import { residentBytes } from './process-facts.js'
import { atMost, emptyRow, type Row } from './report.js'
import {
  ANSWER_LIMIT_MS,
  EMPTY,
  MIB,
  type Measurable,
  Measurements,
  type Round,
  emptySpec,
  residentOnce,
  withProxyRow,
} from './start.js'
import { median, roundOrder, spread } from './statistics.js'
import {
  INITIALIZE,
  INITIALIZED,
  Subject,
  type SubjectSpec,
  otherSpec,
  proxySpec,
  relaySpec,
} from './subject.js'
import { SMALL_TEXTS, textCall, withId } from './wire.js'

/** How long the client waits between the answer to `initialize` and its first call. */
const PAUSES_MS = [200, 0] as const
/** What the engine does behind the call, as compiling, is over then. */
const SETTLE_MS = 500
const CALL_ID = 2

interface Started extends Measurable {
  readonly spec: SubjectSpec
}

/** From the call to its answer, and the resident memory a moment later. */
interface FirstCall {
  readonly ms: number
  readonly residentMb: number | undefined
}

function startedOf(settings: Settings): Started[] {
  const { place } = settings
  const specs = [relaySpec(place), proxySpec(place, true), otherSpec(place)]
  return specs.flatMap((spec) => (spec === undefined ? [] : [{ title: spec.way, spec, aim: undefined }]))
}

async function callOnce({ spec }: Started, settings: Settings, pauseMs: number): Promise<FirstCall> {
  const subject = Subject.start(spec, settings.place)
  const { client } = subject
  try {
    await client.ask(INITIALIZE, ANSWER_LIMIT_MS)
    client.tell(INITIALIZED)
    if (pauseMs > 0) await after(pauseMs)
    const [text = Buffer.alloc(0)] = SMALL_TEXTS
    const call = withId(textCall('id first', subject.tool('echo'), text), CALL_ID)
    const began = performance.now()
    const answer = await client.ask(call, ANSWER_LIMIT_MS)
    const ms = performance.now() - began
    if (!answer.includes(text)) throw new Error(`the call failed: ${answer.toString('utf8', 0, 300)}`)
    await after(SETTLE_MS)
    const bytes = residentBytes(subject.pid)
    return { ms, residentMb: bytes === undefined ? undefined : bytes / MIB }
  } catch (error) {
    throw new Error(subject.explain(error), { cause: error })
  } finally {
    await subject.close()
  }
}

function after(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}

export const firstCall: Figure = async (settings) => {
  const rounds = roundsOf(settings, 12, 3)
  const rows: Row[] = []
  for (const pauseMs of PAUSES_MS) rows.push(...(await rowsOf(settings, rounds, pauseMs)))
  return rows
}

async function rowsOf(settings: Settings, rounds: number, pauseMs: number): Promise<Row[]> {
  const list = startedOf(settings)
  const times = new Measurements()
  const memory = new Measurements()
  const empty = { title: EMPTY, spec: emptySpec(settings), aim: undefined }
  for (let n = 0; n < rounds; n += 1) {
    const [time, resident]: [Round, Round] = [new Map(), new Map()]
    for (const started of roundOrder(list, n)) {
      await times.guard(started, time, async () => {
        const { ms, residentMb } = await callOnce(started, settings, pauseMs)
        if (residentMb !== undefined) resident.set(started.title, residentMb)
        return ms
      })
    }
    if (pauseMs > 0) await memory.guard(empty, resident, () => residentOnce(empty, settings))
    times.rounds.push(time)
    memory.rounds.push(resident)
  }
  const made = timeRows(times, list, pauseMs)
  if (pauseMs === 0) return made
  const figure = 'resident memory behind the first tools/call, over an empty Node process'
  const aimed = list.map((each) => ({ ...each, aim: each.title === 'proxy' ? atMost(24, 'MB') : undefined }))
  return [...made, ...withProxyRow(memory.rows(figure, aimed, 'MB'), figure, atMost(24, 'MB'))]
}

/** Each over the relay of the same round. */
function timeRows(times: Measurements, list: readonly Started[], pauseMs: number): Row[] {
  const when = pauseMs === 0 ? 'at once' : `${pauseMs} ms later`
  const figure = `first tools/call after initialize, ${when}, over the relay`
  const aim = pauseMs === 0 ? undefined : atMost(20, 'ms')
  const shown = (title: string) => {
    const values = times.rounds.flatMap((round) => round.get(title) ?? [])
    return values.length === 0 ? '' : `${median(values).toFixed(1)} ms`
  }
  const made = list
    .filter(({ title }) => title !== 'relay')
    .map(({ title }): Row => {
      const over = times.rounds.flatMap((round) => {
        const [own, relay] = [round.get(title), round.get('relay')]
        return own === undefined || relay === undefined ? [] : [own - relay]
      })
      return {
        figure,
        way: title,
        direct: '',
        relay: shown('relay'),
        own: shown(title),
        spread: over.length === 0 ? undefined : spread(over),
        spreadUnit: 'ms',
        aim: title === 'proxy' ? aim : undefined,
        aside: '',
        note: times.failures.get(title) ?? '',
      }
    })
  return made.length > 0 ? made : [emptyRow(figure, 'proxy', aim, NOT_BUILT)]
}
