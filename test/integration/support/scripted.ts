// A proxy in simulated time, whose servers are scripts.

import { type ProxyOptions } from '../../../src/index.js'
import { type FakeChild, FakeRuntime, settled } from '../../upstream/support/fake-runtime.js'
import type { Heard } from './client.js'
import { at } from './json.js'
import { type Attached, type TestProxy, libraryProxy } from './library.js'
import type { ServerEntry } from './programs.js'
import type { Scope, Servers } from './spawned.js'

/** The answer of a server: a result as raw JSON, now or after a while; an error; or none. */
export type Act = (
  method: string,
  child: FakeChild,
  params: unknown,
) => string | undefined | { readonly error: string } | { readonly afterMs: number; readonly result: string }

export interface Scripted extends TestProxy {
  readonly runtime: FakeRuntime
}

/** A message, and after how many milliseconds it came. */
export interface Timed {
  readonly heard: Heard
  readonly ms: number
}

export const handshake = (name: string, capabilities = '{"tools":{"listChanged":true}}'): string =>
  `{"protocolVersion":"2025-06-18","capabilities":${capabilities},"serverInfo":{"name":"${name}","version":"1"}}`

/** A server with one tool `t`, whose result is the name of the server. */
export const simple = (method: string, child: FakeChild): string => {
  switch (method) {
    case 'initialize':
      return handshake(child.command)
    case 'tools/list':
      return '{"tools":[{"name":"t","inputSchema":{"type":"object"}}]}'
    case 'tools/call':
      return `{"content":[{"type":"text","text":"${child.command}"}]}`
    default:
      return '{}'
  }
}

export type ScriptedOptions = Omit<ProxyOptions, 'runtime'> & { readonly runtime?: FakeRuntime }

const hints = '"ttlMs":0,"cacheScope":"private"'

/** A server of 2026-07-28 with one tool \`t\`; \`call\` gets calls and reads. */
export const stateless =
  (call: Act, capabilities = '{"tools":{},"resources":{}}'): Act =>
  (method, child, params) => {
    if (method === 'tools/call' || method === 'resources/read') return call(method, child, params)
    const lists =
      '"tools":[{"name":"t","inputSchema":{"type":"object"}}],"prompts":[],"resources":[],"resourceTemplates":[]'
    const members =
      method === 'server/discover'
        ? `"supportedVersions":["2026-07-28"],"capabilities":${capabilities}`
        : lists
    return `{"resultType":"complete",${members},${hints}}`
  }

/** The command of each server is its name. */
export async function scripted(
  t: Scope,
  servers: Servers,
  act: Act,
  options: ScriptedOptions = {},
  more: ServerEntry = {},
): Promise<Scripted> {
  const runtime = options.runtime ?? new FakeRuntime()
  runtime.script = (method, params, child) => {
    const answer = act(method, child, params)
    if (typeof answer !== 'object') return answer
    const { lastId } = child
    const say = (member: string): void => child.say(`{"jsonrpc":"2.0","id":${lastId},${member}}`)
    if ('error' in answer) say(`"error":${answer.error}`)
    else runtime.setTimer(answer.afterMs, () => say(`"result":${answer.result}`))
    return undefined
  }
  const named = Object.entries(servers).map(([name, entry]) => [
    name,
    'url' in entry ? entry : { command: name, ...entry },
  ])
  return { ...(await libraryProxy(t, Object.fromEntries(named), { ...options, runtime }, more)), runtime }
}

/** Lets time pass until the message has come. */
export async function timed({ runtime }: Pick<Scripted, 'runtime'>, doing: Promise<Heard>): Promise<Timed> {
  const from = runtime.now()
  const over = { ms: Number.POSITIVE_INFINITY }
  void doing.then(() => {
    over.ms = runtime.now() - from
  })
  while (over.ms === Number.POSITIVE_INFINITY && runtime.now() < from + 120_000) await runtime.pass(50, 50)
  return { heard: await doing, ms: over.ms }
}

export const opening = ({ client }: Attached, capabilities: unknown = {}): Promise<Heard> =>
  client.request('initialize', {
    protocolVersion: '2025-06-18',
    capabilities,
    clientInfo: { name: 't', version: '1' },
  })

/** A client whose session is open, and how long that took. */
export async function enter(
  it: Scripted,
  capabilities: unknown = {},
): Promise<Attached & { readonly openedMs: number }> {
  const party = await it.attach()
  const { ms } = await timed(it, opening(party, capabilities))
  party.client.notify('notifications/initialized')
  await settled()
  return { ...party, openedMs: ms }
}

/** How many notifications of changed tools the client got. */
export const toolChanges = ({ client }: Attached): number =>
  client.count((value) => at(value, 'method') === 'notifications/tools/list_changed')

/** Closes the proxy, while the time passes that its servers take. */
export async function closed({ proxy, runtime }: Scripted): Promise<void> {
  const closing = proxy.close(0)
  await runtime.pass(10_000)
  await closing
}
