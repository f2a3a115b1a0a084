// A sandbox service, and clients that are connected to it.

import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { resolveConfig } from '../../../src/config/config.js'
import { type LogRecord, type Runtime, memoryPair, realRuntime } from '../../../src/index.js'
import { openService } from '../../../src/sandbox/service.js'
import { StateFolder } from '../../../src/sandbox/state-folder.js'
import { type SandboxSettings, principalKey } from '../../../src/upstream/contracts/sandbox-config.js'
import { RawClient } from '../../integration/support/client.js'
import { clientOf } from '../../integration/support/library.js'
import { at } from '../../integration/support/json.js'
import type { Scope } from '../../support/scope.js'
import { LocalRuntime } from './local-runtime.js'

/** The response of a tool. */
export interface Said {
  /** The whole answer. */
  readonly value: unknown
  /** Of the first block. */
  readonly text: string
  readonly code: number | undefined
  readonly message: string
  /** A member of the result. */
  of(name: string): unknown
}

/** A client that calls tools. */
export class SandboxClient {
  readonly raw: RawClient

  readonly #principal: string | undefined

  /** `principal` is what the proxy would say of its client. */
  constructor(raw: RawClient, principal?: string) {
    this.raw = raw
    this.#principal = principal
  }

  async call(name: string, args: unknown = {}, meta?: object): Promise<Said> {
    const own = this.#principal === undefined ? meta : { ...meta, [principalKey]: this.#principal }
    return said((await this.raw.call(name, args, own)).value)
  }

  code(code: string, more: Readonly<Record<string, unknown>> = {}): Promise<Said> {
    return this.call('execute_code', { code, ...more })
  }

  command(command: string, more: Readonly<Record<string, unknown>> = {}): Promise<Said> {
    return this.call('execute_command', { command, ...more })
  }
}

function said(value: unknown): Said {
  const text = at(value, 'result', 'content', 0, 'text')
  const code = at(value, 'error', 'code')
  const message = at(value, 'error', 'message')
  return {
    value,
    text: typeof text === 'string' ? text : '',
    code: typeof code === 'number' ? code : undefined,
    message: typeof message === 'string' ? message : '',
    of: (name) => at(value, 'result', name),
  }
}

/** The settings that a section of a configuration means. */
export function settingsOf(section: object): SandboxSettings {
  const config = resolveConfig(
    { mcpServers: { s: { type: 'sandbox', ...section } } },
    { source: 'test', folder: '/', env: {}, home: '/nowhere' },
  )
  const [server] = config.schemas.get('default')?.servers ?? []
  assert(server?.kind === 'sandbox')
  return server.sandbox
}

/** A service on a runtime without isolation unless the section names another one; its files are removed at the end. */
export async function openSandbox(
  scope: Scope,
  section: object = {},
  change: (runtime: Runtime) => Runtime = (runtime) => runtime,
) {
  const log: LogRecord[] = []
  const real = realRuntime()
  const stateFolder = mkdtempSync(join(tmpdir(), 'mcps-sandbox-'))
  const settings = settingsOf(section)
  const runtime = change(real)
  const parts = { settings, runtime, log: (record: LogRecord) => void log.push(record), stateFolder }
  const local = new LocalRuntime(runtime, new StateFolder(stateFolder, runtime))
  let starts = 0
  const start = local.start.bind(local)
  local.start = (spec) => {
    starts++
    return start(spec)
  }
  const opening =
    settings.runtime === 'auto'
      ? openService(parts, async () => ({ runtime: local, limits: await local.probe() }))
      : openService(parts)
  scope.after(async () => {
    const opened = await opening.catch(() => undefined)
    await opened?.close()
    await real.close()
    rmSync(stateFolder, { recursive: true, force: true, maxRetries: 10 })
  })
  const service = await opening
  // The end of the client, and that of the service.
  const connection = memoryPair()
  const [near, far] = connection
  void service.serve(far)
  const raw = clientOf(near)
  /** The one client of the service, which may speak for several principals. */
  const client = (principal?: string): SandboxClient => new SandboxClient(raw, principal)
  return { connection, service, log, stateFolder, starts: () => starts, client }
}
