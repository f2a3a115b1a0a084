// How long a call of another server takes through the proxy while a session of a sandbox floods it.

import { dirname, join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'

import { type Row, atMost, emptyRow } from './report.js'
import { type Args, Service, milliseconds } from './sandbox-service.js'
import { median, percentile, spread } from './statistics.js'
import { type Place, writeConfig } from './subject.js'

const FLOOD_S = 2
/** Before the first call beside a flood, which must have begun, and after its end. */
const SETTLE_MS = 300
const PAUSE_MS = 2
const READ_BYTES = 10 * 1024 * 1024

const session = { session_id: 'flood' }

/** Lines of the shell that never end by themselves. */
const bombs: readonly (readonly [title: string, line: string])[] = [
  ['loops', 'while :; do :; done & while :; do :; done'],
  ['output', 'yes & yes >&2'],
  ['one-byte writes', 'python3 -c "import os\nwhile 1: os.write(1, b\'x\')"'],
  ['a memory bomb', 'python3 -c "x = []\nwhile 1: x.append(bytearray(1 << 22))"'],
  ['a fork bomb', 'b() { b | b & }; b; sleep 9'],
  ['a disk bomb', 'while :; do head -c 300000000 /dev/zero > file; done'],
]

type Flood = (service: Service) => Promise<unknown>

const floods: readonly (readonly [title: string, flood: Flood])[] = [
  ...bombs.map(([title, line]) => [title, (service: Service) => bomb(service, line)] as const),
  ['16 reads of 10 MiB', (service) => Promise.all(Array.from({ length: 16 }, () => read(service)))],
]

function bomb(service: Service, line: string): Promise<unknown> {
  const args = ['bash', '-c', line]
  const call: Args = {
    ...session,
    command: 'timeout',
    args: [String(FLOOD_S), ...args],
    timeout: FLOOD_S + 3,
  }
  return service.send('box__execute_command', call)
}

function read(service: Service): Promise<unknown> {
  return service.send('box__read_file', { ...session, path: 'large', limit: READ_BYTES })
}

/** The times of calls of the other server, one at a time, as long as the flood may last. */
async function probed(service: Service): Promise<number[]> {
  const times: number[] = []
  const end = performance.now() + FLOOD_S * 1000 - SETTLE_MS
  while (performance.now() < end) {
    times.push(await milliseconds(() => service.call('time__get_current_time', { timezone: 'UTC' })))
    await delay(PAUSE_MS)
  }
  return times
}

interface Beside {
  readonly alone: number
  readonly beside: number
}

async function measured(service: Service, flood: Flood): Promise<Beside> {
  const alone = percentile(await probed(service), 0.99)
  const running = flood(service)
  await delay(SETTLE_MS)
  const beside = percentile(await probed(service), 0.99)
  await running
  await delay(SETTLE_MS)
  return { alone, beside }
}

function rowOf(title: string, rounds: readonly Beside[]): Row {
  const of = (each: keyof Beside): string => `${median(rounds.map((round) => round[each])).toFixed(2)} ms`
  return {
    ...emptyRow(
      `a call of another server beside ${title}, p99 / alone`,
      'sandbox, bubblewrap',
      atMost(1.3),
      '',
    ),
    relay: of('alone'),
    own: of('beside'),
    spread: spread(rounds.map(({ alone, beside }) => beside / alone)),
  }
}

export async function floodRows(place: Place, rounds: number): Promise<Row[]> {
  const time = { command: process.execPath, args: [join(dirname(place.cli), 'servers/time.js')] }
  const box = { type: 'sandbox', runtime: 'bubblewrap' }
  const service = new Service(place, ['--stdio'], writeConfig(place, 'flood', { time, box }))
  const all = floods.map(([title, flood]) => {
    const beside: Beside[] = []
    return { title, flood, rounds: beside }
  })
  try {
    await service.open()
    await probed(service)
    const make = `head -c ${READ_BYTES} /dev/urandom > large`
    await service.call('box__execute_command', { ...session, command: make })
    for (let round = 0; round < rounds; round++)
      for (const each of all) each.rounds.push(await measured(service, each.flood))
  } finally {
    await service.close()
  }
  return all.map((each) => rowOf(each.title, each.rounds))
}
