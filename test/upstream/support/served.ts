// A simulated server behind a proxy, in simulated time, and a client.

import type { ProxyOptions } from '../../../src/index.js'
import { type Attached, type TestProxy, libraryProxy } from '../../integration/support/library.js'
import type { ServerEntry } from '../../integration/support/programs.js'
import type { Scope } from '../../integration/support/spawned.js'
import { FakeRuntime, type Script, polite, settled } from './fake-runtime.js'

export interface Served extends Attached, TestProxy {
  readonly runtime: FakeRuntime
}

export interface ServedOptions {
  /** Added to the configuration of the server. */
  readonly entry?: object
  /** Added to the configuration. */
  readonly config?: ServerEntry
  readonly options?: ProxyOptions
  readonly runtime?: FakeRuntime
}

/** The server `s`, which had a second to start, and a client with a session. */
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
