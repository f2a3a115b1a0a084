// Results of every size, across each size at which the proxy does something else.

import {
  type Figure,
  MB,
  type Settings,
  type Stream,
  type Streams,
  blobCalls,
  cpuOf,
  cpuRows,
  explainMissing,
  measureStreams,
  megabytes,
  roundsOf,
  throughputRows,
} from './figures.js'
import { type Row, atLeast, atMost } from './report.js'
import { spread } from './statistics.js'
import type { Envelope } from './wire.js'

/**
 * Below and above each threshold of the sources: 1 KiB (strings that are looked for), 2 KiB and 4 KiB (short and long
 * messages), 16 KiB (copies), 64 KiB (one read, one write), 1 MiB; then what takes many reads.
 */
const SIZES = [
  1_000, 1_100, 2_000, 2_100, 4_000, 4_200, 16_000, 17_000, 64_000, 70_000, 250_000, 1_000_000, 1_200_000,
  4_000_000, 10_000_000, 16_000_000,
]
/** What one run moves, where that is more than a few results. */
const RUN_BYTES = 8 * MB
const COUNT_MIN = 4
const COUNT_MAX = 2_000
const INFLIGHT_BYTES = 20 * MB
const INFLIGHT_MAX = 8
/** The range of the figure that is one number. */
const WIDE_FROM_BYTES = 250_000
const WARM_UPS = 6

export const sizes: Figure = async (settings) => {
  const streams = settings.place.envelopes.flatMap((envelope) =>
    SIZES.map((size) => streamOf(settings, size, envelope)),
  )
  const measured = await measureStreams(settings, streams, roundsOf(settings, 12, 3))
  const rows = streams.flatMap((stream) => [
    ...throughputRows(settings, stream, measured),
    ...cpuRows(settings, stream, measured),
  ])
  const own = rows.filter(({ way }) => !way.startsWith('relay') && way !== 'proxy, prefix: false')
  return [...own, ...unevenness(settings, streams, measured)]
}

function streamOf(settings: Settings, size: number, envelope: Envelope): Stream {
  const count = Math.min(COUNT_MAX, Math.max(COUNT_MIN, Math.ceil(RUN_BYTES / size)))
  return {
    title: `results of ${size / 1000} KB, ${envelope}`,
    aim: atLeast(size < WIDE_FROM_BYTES ? 0.6 : 0.8),
    inflightMax: Math.max(2, Math.min(INFLIGHT_MAX, Math.floor(INFLIGHT_BYTES / size))),
    count,
    warmUps: settings.quick ? 2 : WARM_UPS,
    slab: (subject) => blobCalls([envelope], subject, { size, count }),
    show: megabytes(size),
    callBytes: size,
    cpuAim: undefined,
  }
}

/** The most that a megabyte costs over the least, whatever its size and wherever the id stands. */
function unevenness(settings: Settings, streams: readonly Stream[], { outcome, specs }: Streams): Row[] {
  const wide = streams.filter(({ callBytes }) => callBytes >= WIDE_FROM_BYTES)
  return specs
    .filter(({ way }) => way !== 'direct' && way !== 'proxy, prefix: false')
    .map(({ way }) => {
      const ratios = outcome.rounds.flatMap((round) => {
        const samples = round.get(way)
        const costs = samples === undefined ? [] : wide.flatMap((stream) => cpuOf(stream, samples) ?? [])
        return costs.length < wide.length ? [] : [Math.max(...costs) / Math.min(...costs)]
      })
      const row: Row = {
        figure: 'CPU per MB, worst / best of 0.25 to 16 MB',
        way,
        direct: '',
        relay: '',
        own: '',
        spread: ratios.length === 0 ? undefined : spread(ratios),
        spreadUnit: '',
        aim: way === 'proxy' ? atMost(1.5) : undefined,
        aside: '',
        note: outcome.failures.get(way) ?? '',
      }
      return explainMissing(row, settings)
    })
}
