// A simulated server behind a proxy, in a time that the tests make, and a client of it.

import type { ProxyOptions } from '../../../src/index.js'
import { type Attached, type TestProxy, libraryProxy } from '../../integration/support/library.js'
import type { ServerEntry } from '../../integration/support/programs.js'
import type { Scope } from '../../integration/support/spawned.js'
import { FakeRuntime, type Script, polite, settled } from './fake-runtime.js'

export interface Served extends Attached, TestProxy {
  readonly runtime: FakeRuntime
}

export interface ServedOptions {
  /** Besides its command. */
  readonly entry?: object
  /** Besides the servers. */
  readonly config?: ServerEntry
  readonly options?: ProxyOptions
  readonly runtime?: FakeRuntime
}

/** The server `s`, and a client that has opened its session and has left it a second to start. */
export async function served(
  scope: Scope,
  script: Script = polite,
  { entry = {}, config = {}, options = {}, runtime = new FakeRuntime() }: ServedOptions = {},
): Promise<Served> {
  runtime.script = script
  const servers = { s: { command: 'x', ...entry } }
  const made = await libraryProxy(scope, servers, { runtime, ...options }, config)
  const attached = await made.attach()
  const opening = attached.client.open()
  await settled()
  await runtime.pass(1000)
  await opening
  return { ...made, ...attached, runtime }
}
