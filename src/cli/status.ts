// `status`: prints the servers and clients of a running gateway, from its status page.

import { Buffer } from 'node:buffer'
import process from 'node:process'
import { type JsonValue, jsonTreeOf } from '../ask/json-value.js'
import { escapeText } from '../text/escape.js'
import type { Paint } from '../log/lines.js'
import { counted } from '../text/counted.js'
import { homeOf, ownPath } from '../config/file.js'
import { loadWithSecrets } from './load.js'
import { Failure, aligned, print, say, tableStyle } from './console.js'
import { type Given, UsageError, cannotBoth, command, flag } from './command-line.js'
import { config, header, json, port, timeout } from './common-options.js'
import { keptAddresses } from './ui-addresses.js'

const timeoutMsDefault = 5000

const options = {
  config,
  port: { ...port, about: 'Port of the gateway, where its own --port has set it' },
  timeout,
  json,
  header,
  ui: flag('Print the addresses of the pages that --ui of other commands serves'),
}

type StatusTask = Given<typeof options>

export const statusCommand = command({
  name: 'status',
  takes: '[URL]',
  about: 'servers and clients of a running gateway',
  group: 'LOOK',
  details: `Asks a running gateway (mcps-proxy http) for its servers and clients, and prints them. Without
a URL it asks the host and port of the configuration, with the token of the configuration; another
gateway, also one at another --port, gets only the header fields that are given. The exit code is
1 when no gateway answers, or when one of its servers has failed.`,
  examples: [
    'mcps-proxy status',
    "mcps-proxy status https://mcp.example.com -H 'Authorization: Bearer …' --json",
  ],
  options,
  wordsMax: 1,
  check: (given) => {
    const [url] = given.words
    if (url !== undefined && !(/^https?:\/\//.test(url) && URL.canParse(url)))
      throw new UsageError('status takes the address of a gateway, like http://127.0.0.1:3095')
    if (url !== undefined && given.port !== undefined)
      throw cannotBoth('URL', '--port', 'the address has the port')
    if (url !== undefined && given.ui)
      throw new UsageError('status --ui takes no address', 'it prints those of the pages on this machine')
  },
  run: runStatus,
})

/** @returns the exit code: 1 if no gateway answers, or if one of its servers has failed */
async function runStatus(task: StatusTask): Promise<number> {
  if (task.ui) return showInspectors()
  const place = await placeOf(task)
  const status = await statusAt(place, task.timeout ?? timeoutMsDefault)
  const { paint } = await tableStyle()
  await say('stdout', task.json ? `${status.raw}\n` : statusText(place.origin, status, paint))
  return numberAt(status.member('summary'), 'failedServers') > 0 ? 1 : 0
}

async function showInspectors(): Promise<number> {
  const addresses = keptAddresses(ownPath(homeOf(process.env), 'ui'))
  if (addresses.length === 0)
    throw new Failure('no inspector runs; --ui of stdio, http or connect serves one')
  await print(...addresses)
  return 0
}

interface Place {
  readonly origin: string
  readonly headers: Readonly<Record<string, string>>
}

const NO_SCHEMA = ''

/** The token of the configuration goes only to the host and port of the configuration. */
async function placeOf({ words: [url], header: headers, config: path, port }: StatusTask): Promise<Place> {
  if (url !== undefined) return { origin: new URL(url).origin, headers }
  const asked = { path, servesHttp: false, asksFront: true }
  const { server } = await loadWithSecrets(asked, { schema: NO_SCHEMA })
  const host = ['0.0.0.0', '::'].includes(server.host) ? '127.0.0.1' : server.host
  const origin = `http://${host.includes(':') ? `[${host}]` : host}:${port ?? server.port}`
  const token = port === undefined || port === server.port ? server.token : undefined
  return { origin, headers: { ...(token && { authorization: `Bearer ${token}` }), ...headers } }
}

async function statusAt({ origin, headers }: Place, timeoutMs: number): Promise<JsonValue> {
  const response = await fetch(`${origin}/api/status`, {
    headers,
    redirect: 'manual',
    signal: AbortSignal.timeout(timeoutMs),
  }).catch((error: unknown) => {
    const remedy = 'mcps-proxy http starts one, and mcps-proxy status http://HOST:PORT asks another'
    throw new Failure(`no gateway answers at ${origin} (${reasonOf(error)}); ${remedy}`)
  })
  if (response.status === 401 || response.status === 403)
    throw new Failure(
      `the gateway at ${origin} wants a token, or another one; -H 'Authorization: Bearer …' passes one`,
    )
  const body = Buffer.from(await response.arrayBuffer().catch(() => new ArrayBuffer(0)))
  const status = response.status === 200 ? jsonTreeOf(body) : undefined
  if (status?.member('schemas') === undefined)
    throw new Failure(
      `the server at ${origin} is no mcps-proxy gateway (status ${response.status} for /api/status)`,
    )
  return status
}

/** `fetch` puts the system's reason into the `cause` of its error. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  if (error.name === 'TimeoutError') return 'no answer in time'
  const { cause } = error
  if (cause instanceof Error) return 'code' in cause ? String(cause.code) : cause.message
  return error.message
}

function statusText(origin: string, status: JsonValue, paint: Paint): string {
  const server = status.member('server')
  const up = server?.string('uptime')
  const isAway = server?.string('store') === 'away'
  const schemas = status.member('schemas')?.parts ?? []
  const lines = schemas.flatMap(({ name, value }) => schemaLines(name, value, paint))
  const head = `${origin}${up === undefined ? '' : `, up for ${up}`}`
  return [isAway ? `${head}; its store cannot be reached` : head, ...lines]
    .map((line) => `${line}\n`)
    .join('')
}

function schemaLines(name: string, schema: JsonValue, paint: Paint): string[] {
  const servers = schema.member('mcpServers')?.items ?? []
  const sessions = schema.member('sessions')?.items ?? []
  const ready = numberAt(schema, 'connectedServers')
  const tools = numberAt(schema, 'totalTools')
  const clients = numberAt(schema, 'totalSessions')
  if (schema.string('status') === 'disabled') return ['', `${escapeText(name)}: disabled`]
  const rows = servers.map((server) => [server.string('name') ?? '', stateOf(server)] as const)
  return [
    '',
    `${escapeText(name)}: ${ready} of ${counted(servers.length, 'server')} ready, ${counted(tools, 'tool')}, ${counted(clients, 'client')}`,
    ...aligned(rows, paint).map((line) => `  ${line}`),
    ...sessions.map(sessionLine),
    ...(clients > sessions.length ? [`  and ${counted(clients - sessions.length, 'other client')}`] : []),
  ]
}

function numberAt(value: JsonValue | undefined, name: string): number {
  return Number(value?.member(name)?.text ?? 0)
}

function stateOf(server: JsonValue): string {
  const pid = server.member('pid')?.text
  const changes = server.member('changes')?.items.length ?? 0
  const facts = [
    counted(numberAt(server, 'toolCount'), 'tool'),
    server.string('revision'),
    pid === undefined ? undefined : `pid ${pid}`,
    changes === 0 ? undefined : `${counted(changes, 'change')} against mcps.lock`,
    usersIn(server.member('users')),
    server.string('error'),
  ].filter((fact) => fact !== undefined)
  return `${(server.string('status') ?? '?').padEnd('login-required'.length)}  ${facts.join(', ')}`
}

function usersIn(users: JsonValue | undefined): string | undefined {
  const without = numberAt(users, 'withoutLogin')
  const all = users && counted(numberAt(users, 'count'), 'user')
  return without === 0 ? all : `${all}, ${without} without a login`
}

function sessionLine(session: JsonValue): string {
  const client = session.member('client')
  const who = [client?.string('name') ?? 'a client', client?.string('version')].filter(Boolean).join(' ')
  return escapeText(
    `  ${who}, ${session.string('revision') ?? '?'}, since ${session.string('connectedAt') ?? '?'}`,
  )
}
