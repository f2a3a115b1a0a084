// The kind `sandbox`: the bundled program `sandbox.js`, started like other servers on stdio.

import process from 'node:process'
import { join } from 'node:path'
import { programFolder } from '../../folder.js'
import { parse, quote, rawAt, write } from '../../jsonrpc/text.js'
import { isObject } from '../../text/json-object.js'
import { Redactor } from '../../text/redactor.js'
import { aboutKey, principalKey, settingsVariable } from '../contracts/sandbox-config.js'
import type { SandboxServerConfig, StdioServerConfig } from '../contracts/server-config.js'
import type { ServerAbout } from '../contracts/upstream.js'
import { Server } from '../server/configured-server.js'
import { ServerProcess } from '../process/process.js'
import type { ProxyContext } from '../server/context.js'
import { toLine } from '../../jsonrpc/line.js'
import { membersAt } from '../../jsonrpc/members.js'
import type { ServerWriter } from '../../mcp/eras/server-writers.js'

const CONCURRENCY = 1024

const RESTART_DELAY_MS = 1000

const STOP_TIMEOUT_MS = 5000

const MiB = 1024 ** 2

/** The memory limit of the program itself, without its sessions. */
const OWN_BYTES_MAX = 1024 * MiB

export function openSandbox(config: SandboxServerConfig, around: ProxyContext): Server {
  const redactor = new Redactor(config.secrets, (added) => around.onSecrets?.(added, config.name))
  const program = programConfig(config, around.marks)
  let about: ServerAbout | undefined
  const behaviour = {
    ...program,
    redactor,
    // The sandbox sends no requests, so calls of several clients need not wait for each other.
    questionsNameTheirCall: true,
    probeMs: Infinity,
    dial: () => new ServerProcess(program, around, redactor),
    about: () => about,
  }
  const open: ProxyContext['open'] = async (spoken, memory, opening) => {
    const opened = await around.open(spoken, memory, opening)
    if (opened.kind !== 'opened') return opened
    about = aboutIn(opened.facts.handshake) ?? about
    const isApart = config.sandbox.sessions === 'client'
    return isApart ? { ...opened, writer: principalWriter(opened.writer) } : opened
  }
  return new Server(config, behaviour, { ...around, open })
}

function programConfig(
  config: SandboxServerConfig,
  marks: Readonly<Record<string, string>>,
): StdioServerConfig {
  const { sandbox, ...common } = config
  const { maxTotalMemoryMb } = sandbox
  return {
    ...common,
    kind: 'stdio',
    command: process.execPath,
    args: [join(programFolder, 'sandbox.js')],
    env: { [settingsVariable]: write(sandbox), ...marks },
    // The program finds container engines and the user's systemd by variables of many names.
    inheritEnv: true,
    cwd: process.cwd(),
    restart: true,
    restartDelayMs: RESTART_DELAY_MS,
    crashesMax: undefined,
    concurrency: CONCURRENCY,
    processes: 1,
    isolation: 'shared',
    idleTimeoutMs: undefined,
    stopTimeoutMs: STOP_TIMEOUT_MS,
    memoryLimitBytes: maxTotalMemoryMb === undefined ? undefined : maxTotalMemoryMb * MiB + OWN_BYTES_MAX,
    sandbox: undefined,
    onTimeout: 'cancel',
  }
}

// The writer for the sandbox adds the principal to each call.

const OF_SESSIONS = new Set(['tools/call', 'resources/read'])

/** Writes to a sandbox with separate sessions for each principal. */
export function principalWriter(writer: ServerWriter): ServerWriter {
  return {
    params: (own, isAboutTasks) => writer.params(own, isAboutTasks),
    outcome: (frame) => writer.outcome(frame),
    edits: (call) => {
      if (!OF_SESSIONS.has(call.frame.method)) return writer.edits(call)
      const text = `"${principalKey}":${quote(call.context.principal ?? '')}`
      return writer.edits(call, [{ text, names: [principalKey], why: 'meta' }])
    },
  }
}

/** Reads the program's description of itself in the result of `initialize`. */
function aboutIn(handshake: Uint8Array): ServerAbout | undefined {
  const line = toLine(handshake)
  const meta = membersAt(line, membersAt(line, { start: 0, end: line.length })?.span('_meta'))
  const span = meta?.span(aboutKey)
  const about: unknown = span === undefined ? undefined : parse(rawAt(line, span))
  return isAbout(about) ? about : undefined
}

function isAbout(value: unknown): value is ServerAbout {
  return isObject(value) && typeof value['runtime'] === 'string' && Array.isArray(value['tools'])
}
