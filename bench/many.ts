// The cost of a call when 199 other servers and 10,000 tools stand beside the one that is called.
//
// Only one server is ever called, so the others need not be Node: each is a
// small shell script that replays prepared answers to `initialize` and
// `tools/list`, in about 1 MB. The called server comes last in the
// configuration, where a search through a list would cost most.

import { writeFileSync } from 'node:fs'
import { join } from 'node:path'

import { alternate } from './alternate.js'
import { type Figure, medianLatency, planOf } from './figures.js'
import { atMost, relayRows } from './report.js'
import {
  type Place,
  SERVER_NAME,
  type SubjectSpec,
  type Way,
  directSpec,
  proxySpecs,
  serverArgv,
  writeConfig,
} from './subject.js'

const SERVERS = 200
const TOOLS_EACH = 50
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
    argv: () => [process.execPath, place.cli, '--stdio', '--config', config],
    toolCount: SERVERS * TOOLS_EACH,
  }
}

export const many: Figure = async (settings) => {
  const { place } = settings
  const one = { ...(proxySpecs(place)[0] ?? directSpec), way: ONE }
  const count = settings.quick ? 200 : 500
  const usual = { rounds: 30, quickRounds: 5, warmCalls: 12_000, count }
  const plan = planOf(settings, usual, medianLatency(settings, count))
  const rows = relayRows({
    figure: 'cost of a call with 200 servers and 10,000 tools / with 1, one at a time',
    outcome: await alternate([one, manySpec(place, one)], place, plan),
    ways: [ONE, MANY],
    value: (value) => value,
    show: (value) => `${value.toFixed(2)} µs`,
    aim: AIM,
    base: ONE,
  })
  return rows.filter(({ way }) => way === MANY).map((row) => ({ ...row, way: 'proxy' }))
}
