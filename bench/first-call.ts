// The first `tools/call` of a process that has just started.
//
// Nothing is warm here, which is what a person waits for: the call comes a while after the tools are listed, as a model
// takes it to choose one.

import { type Figure, type Settings, roundsOf } from './figures.js'
import { atMost, type Row } from './report.js'
import { ANSWER_LIMIT_MS, type Measurable, Measurements, type Round } from './start.js'
import { median, roundOrder, spread } from './statistics.js'
import { INITIALIZE, INITIALIZED, Subject, type SubjectSpec, proxySpecs, relaySpec } from './subject.js'
import { SMALL_TEXTS, textCall, withId } from './wire.js'

/** How long the client waits between the answer to `initialize` and its first call. */
const PAUSE_MS = 200
const CALL_ID = 2
const AIM = atMost(20, 'ms')
const FIGURE = `first tools/call after initialize, ${PAUSE_MS} ms later, over the relay`

interface Started extends Measurable {
  readonly spec: SubjectSpec
}

function startedOf({ place }: Settings): Started[] {
  return [relaySpec(), ...proxySpecs(place)].map((spec) => ({ title: spec.way, spec, aim: undefined }))
}

/** The time from the call to its answer. */
async function callOnce({ spec }: Started, settings: Settings): Promise<number> {
  const subject = Subject.start(spec, settings.place)
  const { client } = subject
  try {
    await client.ask(INITIALIZE, ANSWER_LIMIT_MS)
    client.tell(INITIALIZED)
    await new Promise((resolve) => setTimeout(resolve, PAUSE_MS))
    const [text = Buffer.alloc(0)] = SMALL_TEXTS
    const call = withId(textCall('id first', subject.tool('echo'), text), CALL_ID)
    const began = performance.now()
    const answer = await client.ask(call, ANSWER_LIMIT_MS)
    const ms = performance.now() - began
    if (!answer.includes(text)) throw new Error(`the call failed: ${answer.toString('utf8', 0, 300)}`)
    return ms
  } catch (error) {
    throw new Error(subject.explain(error), { cause: error })
  } finally {
    await subject.close()
  }
}

export const firstCall: Figure = async (settings) => {
  const list = startedOf(settings)
  const times = new Measurements()
  for (let n = 0; n < roundsOf(settings, 12, 3); n += 1) {
    const round: Round = new Map()
    for (const started of roundOrder(list, n))
      await times.guard(started, round, () => callOnce(started, settings))
    times.rounds.push(round)
  }
  return rowsOf(times, list)
}

/** Each over the relay of the same round. */
function rowsOf(times: Measurements, list: readonly Started[]): Row[] {
  const shown = (title: string) => {
    const values = times.rounds.flatMap((round) => round.get(title) ?? [])
    return values.length === 0 ? '' : `${median(values).toFixed(1)} ms`
  }
  return list
    .filter(({ title }) => title !== 'relay')
    .map(({ title }): Row => {
      const over = times.rounds.flatMap((round) => {
        const [own, relay] = [round.get(title), round.get('relay')]
        return own === undefined || relay === undefined ? [] : [own - relay]
      })
      return {
        figure: FIGURE,
        way: title,
        direct: '',
        relay: shown('relay'),
        own: shown(title),
        spread: over.length === 0 ? undefined : spread(over),
        spreadUnit: 'ms',
        aim: title === 'proxy' ? AIM : undefined,
        aside: '',
        note: times.failures.get(title) ?? '',
      }
    })
}
