// The cost of results of 0.25 to 16 MB for the proxy, in each combination of client and server era, id first and id last.
//
// Each combination, and the relay between old ends, makes the same calls in turn. A result that is joined or
// scanned a second time on one of these ways costs several times the processor time of one between old ends.

import { BLOB_TOOL, CELLS, type Cell, LineEnds, blobCall } from './era-ends.js'
import { type Figure, MB, type Settings, roundsOf } from './figures.js'
import { cpuSeconds } from './process-facts.js'
import { type Row, atLeast, atMost } from './report.js'
import { median, ratios, roundOrder, spread } from './statistics.js'
import type { Envelope } from './wire.js'

const SIZES = [250_000, 500_000, MB, 1_200_000, 4 * MB, 16 * MB]
const CPU_AIM = atMost(1.6)
const THROUGHPUT_AIM = atLeast(0.6)
/** Moved for one sample. */
const SAMPLE_BYTES = 32 * MB
const CALLS_MIN = 4
const INFLIGHT_BYTES = 8 * MB
const INFLIGHT_MAX = 4
/** Results of 250 KB and of 4 MB before anything is measured, of each envelope. */
const WARM_UPS = [
  [SIZES[0] ?? MB, 100],
  [4 * MB, 8],
] as const

const inflightOf = (bytes: number): number =>
  Math.max(2, Math.min(INFLIGHT_MAX, Math.floor(INFLIGHT_BYTES / bytes)))

const oldEnds: Cell = { name: 'relay', isNewClient: false, isNewServer: false }
const OLD_ENDS = CELLS[0]?.name ?? ''

/** Makes so many calls for results of `bytes`. */
async function calls(ends: LineEnds, bytes: number, envelope: Envelope, count: number): Promise<void> {
  const tool = ends.cell === oldEnds ? 'blob' : BLOB_TOOL
  const next = (id: number): string => blobCall(ends.cell, id, tool, bytes, envelope)
  const came = await ends.calls(next, count, inflightOf(bytes))
  if (came < bytes * count) throw new Error(`${ends.cell.name}: results of ${came} bytes`)
}

/** The time of one way for the results of one size and envelope, by round. */
interface Sample {
  readonly cpuPerMb: number[]
  readonly seconds: number[]
}

type Samples = ReadonlyMap<string, Sample>

const keyOf = (name: string, bytes: number, envelope: Envelope): string => `${name} ${bytes} ${envelope}`

async function measured(settings: Settings, all: readonly LineEnds[], rounds: number): Promise<Samples> {
  const samples = new Map<string, Sample>()
  const { envelopes } = settings.place
  for (const ends of all)
    for (const envelope of envelopes)
      for (const [bytes, count] of WARM_UPS) await calls(ends, bytes, envelope, count)
  for (let round = 0; round < rounds; round += 1)
    for (const bytes of SIZES)
      for (const envelope of envelopes)
        for (const ends of roundOrder(all, round)) {
          const count = Math.max(CALLS_MIN, Math.round(SAMPLE_BYTES / bytes))
          const [began, before] = [performance.now(), cpuSeconds(ends.pid) ?? Number.NaN]
          await calls(ends, bytes, envelope, count)
          const seconds = (performance.now() - began) / 1000
          const cpu = (cpuSeconds(ends.pid) ?? Number.NaN) - before
          const key = keyOf(ends.cell.name, bytes, envelope)
          const sample = samples.get(key) ?? { cpuPerMb: [], seconds: [] }
          sample.cpuPerMb.push((cpu * 1e3) / ((count * bytes) / MB))
          sample.seconds.push(seconds)
          samples.set(key, sample)
        }
  return samples
}

/** The combination and envelope that cost most over old ends, of one size. */
function cpuRow({ place }: Settings, samples: Samples, bytes: number): Row {
  const each = place.envelopes.flatMap((envelope) => {
    const old = samples.get(keyOf(OLD_ENDS, bytes, envelope))?.cpuPerMb ?? []
    return CELLS.slice(1).map(({ name }) => {
      const own = samples.get(keyOf(name, bytes, envelope))?.cpuPerMb ?? []
      return { title: `${name}, ${envelope}`, old, own, over: ratios(own, old) }
    })
  })
  const worst = each.toSorted((a, b) => median(b.over) - median(a.over))[0]
  return {
    figure: `CPU per MB, results of ${bytes / MB} MB, worst of eras and envelopes / old ends`,
    way: worst?.title ?? '',
    relay: `${median(worst?.old ?? []).toFixed(2)} ms`,
    own: `${median(worst?.own ?? []).toFixed(2)} ms`,
    spread: spread(worst?.over ?? []),
    aim: CPU_AIM,
  }
}

const perSecond = (seconds: readonly number[]): string =>
  `${(SAMPLE_BYTES / MB / median(seconds)).toFixed(0)} MB/s`

function throughputRow({ place }: Settings, samples: Samples, { name }: Cell): Row {
  const all = place.envelopes.map((envelope) => ({
    own: samples.get(keyOf(name, MB, envelope))?.seconds ?? [],
    relay: samples.get(keyOf(oldEnds.name, MB, envelope))?.seconds ?? [],
  }))
  return {
    figure: 'results of 1 MB, throughput over the relay between old ends',
    way: name,
    relay: perSecond(all.flatMap(({ relay }) => relay)),
    own: perSecond(all.flatMap(({ own }) => own)),
    spread: spread(all.flatMap(({ own, relay }) => ratios(relay, own))),
    aim: THROUGHPUT_AIM,
  }
}

export const eraSizes: Figure = async (settings) => {
  const all: LineEnds[] = []
  try {
    for (const cell of [...CELLS, oldEnds])
      all.push(await LineEnds.open(cell, settings.place, cell === oldEnds))
    const samples = await measured(settings, all, roundsOf(settings, 5, 2))
    return [
      ...SIZES.map((bytes) => cpuRow(settings, samples, bytes)),
      ...CELLS.map((cell) => throughputRow(settings, samples, cell)),
    ]
  } finally {
    await Promise.all(all.map((ends) => ends.close()))
  }
}
