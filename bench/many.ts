// What a call costs when 199 other servers and 10,000 tools stand beside the one that is called.
//
// Only one server is ever called, so the others need not be Node: each is a
// small shell script that replays prepared answers to `initialize` and
// `tools/list`, in about 1 MB. The called server comes last in the
// configuration, where a search through a list would cost most.

import { writeFileSync } from 'node:fs'
import { join } from 'node:path'

import { alternate } from './alternate.js'
import { type Figure, remembered, roundsOf, smallCalls, warmUpsOf } from './figures.js'
import { type Row, atMost, ratiosOf, valuesOf } from './report.js'
import { median, spread } from './statistics.js'
import {
  type Place,
  SERVER_NAME,
  type Subject,
  type SubjectSpec,
  type Way,
  proxySpec,
  serverArgv,
  writeConfig,
} from './subject.js'

const SERVERS = 200
const TOOLS_EACH = 50
const RUN_LIMIT_MS = 60_000
const AIM = atMost(1.1)
const ONE: Way = 'proxy, 1 server'
const MANY: Way = 'proxy, 200 servers'

/** POSIX shell with no other program in it: `$1` is the file with the result of tools/list. */
const SCRIPT = `IFS= read -r tools < "$1"
while IFS= read -r line; do
  id=\${line#*'"id":'}
  id=\${id%%[,\\}]*}
  case $line in
    *'"method":"initialize"'*)
      result='{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"tiny","version":"1"}}' ;;
    *'"method":"tools/list"'*) result=$tools ;;
    *'"method":"ping"'*) result='{}' ;;
    *) continue ;;
  esac
  printf '{"jsonrpc":"2.0","id":%s,"result":%s}\\n' "$id" "$result"
done
`

function toolList(): string {
  const tools = Array.from({ length: TOOLS_EACH }, (_, n) => ({
    name: `tool_${n}`,
    description: `Does the thing number ${n} of a server that is never called.`,
    inputSchema: {
      type: 'object',
      properties: { path: { type: 'string' }, depth: { type: 'integer', minimum: 0 } },
      required: ['path'],
    },
  }))
  return JSON.stringify({ tools })
}

function manySpec(place: Place, one: SubjectSpec): SubjectSpec {
  const script = join(place.folder, 'tiny-server.sh')
  const list = join(place.folder, 'tiny-tools.json')
  writeFileSync(script, SCRIPT)
  writeFileSync(list, toolList() + '\n')
  const [command, ...args] = serverArgv(TOOLS_EACH)
  const servers: [string, object][] = Array.from({ length: SERVERS - 1 }, (_, n) => [
    `tiny${n}`,
    { command: 'sh', args: [script, list] },
  ])
  const config = writeConfig(
    place,
    'many',
    Object.fromEntries([...servers, [SERVER_NAME, { command, args }]]),
  )
  return {
    ...one,
    way: MANY,
    argv: [process.execPath, place.cli, '--stdio', '--config', config],
    toolCount: SERVERS * TOOLS_EACH,
  }
}

export const many: Figure = async (settings) => {
  const figure = 'cost of a call with 200 servers and 10,000 tools / with 1, one at a time'
  const proxy = proxySpec(settings.place)
  const one = { ...proxy, way: ONE }
  const count = settings.quick ? 200 : 500
  const slabOf = remembered((subject) => smallCalls(settings, subject, count))
  const cost = async (subject: Subject): Promise<number> =>
    median(
      await subject.client.latencies({ slab: slabOf(subject), inflightMax: 1, timeLimitMs: RUN_LIMIT_MS }),
    )
  const warmUps = warmUpsOf(settings, 12_000, count)
  const outcome = await alternate([one, manySpec(settings.place, proxy)], settings.place, {
    rounds: roundsOf(settings, 30, 5),
    generations: settings.quick ? 1 : 2,
    warm: async (subject) => {
      for (let n = 0; n < warmUps; n += 1) await cost(subject)
    },
    measure: cost,
  })
  const ratios = ratiosOf(
    outcome,
    [MANY, ONE],
    (one) => one,
    ([a = Number.NaN, b = Number.NaN]) => a / b,
  )
  const shown = (way: Way) => {
    const values = valuesOf(outcome, way, (one) => one)
    return values.length === 0 ? '' : `${median(values).toFixed(2)} µs`
  }
  const row: Row = {
    figure,
    way: `proxy, with 1: ${shown(ONE)}`,
    direct: '',
    relay: '',
    own: shown(MANY),
    spread: ratios.length === 0 ? undefined : spread(ratios),
    spreadUnit: '',
    aim: AIM,
    aside: '',
    note: outcome.failures.get(MANY) ?? outcome.failures.get(ONE) ?? '',
  }
  return [row]
}
