// The kind `sandbox`: the bundled program `sandbox.js`, started like any other server on stdio.

import process from 'node:process'
import { join } from 'node:path'
import { programFolder } from '../../folder.js'
import { parse, quote, rawAt, write } from '../../jsonrpc/text.js'
import { Redactor } from '../../text/redactor.js'
import { aboutKey, principalKey, settingsVariable } from '../contracts/sandbox-config.js'
import type { SandboxServerConfig, StdioServerConfig } from '../contracts/server-config.js'
import type { ServerAbout, Upstream } from '../contracts/upstream.js'
import { Server } from '../server/server.js'
import { ServerProcess } from '../process/process.js'
import type { ProxyContext } from '../server/context.js'
import type { RequestFrame, ResponseFrame } from '../../jsonrpc/frame.js'
import { toLine } from '../../jsonrpc/line.js'
import { membersAt } from '../../jsonrpc/members.js'
import { type Edit, inOrder } from '../../jsonrpc/splice.js'
import type { Call, Outcome } from '../../mcp/call.js'
import type { ClientCapabilities } from '../../mcp/capabilities.js'
import type {
  InputRequired,
  Opened,
  Outdated,
  ServerFacts,
  ServerLeg,
  ServerSpeech,
  ServerVoice,
} from '../../mcp/eras/leg.js'
import { cutNamed, insertion, keepsSome } from '../../mcp/member-edits.js'
import { requestMetaKeys } from '../../mcp/meta-keys.js'

/** Every session has a separate queue. */
const CONCURRENCY = 1024

/** Before it is started again after a crash. */
const RESTART_DELAY_MS = 1000

const STOP_TIMEOUT_MS = 5000

const MiB = 1024 ** 2

/** Of the program itself, without its sessions. */
const OWN_BYTES_MAX = 1024 * MiB

export function openSandbox(config: SandboxServerConfig, around: ProxyContext): Upstream {
  const { runtime, log, limits, marks } = around
  const redactor = new Redactor(config.secrets, (added) => around.onSecrets?.(added, config.name))
  const program = programConfig(config, marks)
  let about: ServerAbout | undefined
  const behaviour = {
    ...program,
    startsAfterProbe: true,
    redactor,
    // It asks nothing, so calls of several clients need not wait for each other.
    questionsNameTheirCall: true,
    staysForClients: true,
    mirrors: false,
    probeMs: Infinity,
    eraMs: Infinity,
    dial: () => new ServerProcess(program, limits, runtime, log, redactor),
    about: () => about,
  }
  const leg: ProxyContext['leg'] = (spoken, memory) =>
    new SandboxLeg(around.leg(spoken, memory), config.sandbox.sessions === 'client', (own) => {
      about = own
    })
  return new Server(config, behaviour, { ...around, leg })
}

/** The program as a server on stdio. */
function programConfig(
  config: SandboxServerConfig,
  marks: Readonly<Record<string, string>>,
): StdioServerConfig {
  const { sandbox, ...common } = config
  const { memoryMiBMax } = sandbox
  return {
    ...common,
    kind: 'stdio',
    command: process.execPath,
    args: [join(programFolder, 'sandbox.js')],
    env: { [settingsVariable]: write(sandbox), ...marks },
    // It finds container engines and the systemd of its user by variables of many names.
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
    memoryLimitBytes: memoryMiBMax === undefined ? undefined : memoryMiBMax * MiB + OWN_BYTES_MAX,
    sandbox: undefined,
    onTimeout: 'cancel',
  }
}

// How the bundled sandbox is spoken to: like its era, and each call says whose it is.

/** The methods that reach a session. */
const OF_SESSIONS = new Set(['tools/call', 'resources/read'])

const OPEN_OBJECT = 0x7b

/** Speaks to the sandbox through the leg of its era. */
export class SandboxLeg implements ServerLeg, ServerSpeech {
  readonly speech: ServerSpeech = this
  readonly #leg: ServerLeg
  readonly #isApart: boolean
  readonly #onAbout: (about: ServerAbout) => void

  /** `isApart` where each principal has separate sessions; `onAbout` gets the program's description of itself. */
  constructor(leg: ServerLeg, isApart: boolean, onAbout: (about: ServerAbout) => void) {
    this.#leg = leg
    this.#isApart = isApart
    this.#onAbout = onAbout
  }

  async open(voice: ServerVoice, declared: ClientCapabilities, opening?: Call): Promise<Opened> {
    const opened = await this.#leg.open(voice, declared, opening)
    const about = opened.kind === 'opened' ? aboutIn(opened.facts.handshake) : undefined
    if (about !== undefined) this.#onAbout(about)
    return opened
  }

  recall(handshake: Uint8Array): ServerFacts | undefined {
    return this.#leg.recall(handshake)
  }

  edits(call: Call): readonly Edit[] {
    const edits = this.#leg.speech.edits(call)
    if (!this.#isApart || !OF_SESSIONS.has(call.frame.method)) return edits
    return withPrincipal(call.frame, call.context.principal ?? '', edits)
  }

  params(own: string, isAboutTasks?: boolean): string {
    return this.#leg.speech.params(own, isAboutTasks)
  }

  outcome(call: Call, frame: ResponseFrame): Outcome | InputRequired | Outdated {
    return this.#leg.speech.outcome(call, frame)
  }
}

/** The edits with a member of `_meta` that says who calls, in place of one that a client may have written. */
function withPrincipal(frame: RequestFrame, principal: string, edits: readonly Edit[]): readonly Edit[] {
  const { span, members, meta, metaSpan } = frame.params
  const said = `"${principalKey}":${quote(principal)}`
  if (span === undefined)
    return [...edits, insertion(frame.idSpan.end, `,"params":{"_meta":{${said}}}`, 'meta')]
  if (metaSpan === undefined)
    return [...edits, insertion(span.start + 1, `"_meta":{${said}}${members.size === 0 ? '' : ','}`, 'meta')]
  if (frame.line[metaSpan.start] !== OPEN_OBJECT)
    return [...edits, { ...metaSpan, bytes: Buffer.from(`{${said}}`), why: 'meta' }]
  // The cuts of the era in `_meta` are made anew together with this one: commas go with them.
  const outside = edits.filter(({ start, end }) => end <= metaSpan.start || start >= metaSpan.end)
  const cut = [principalKey, ...(outside.length === edits.length ? [] : requestMetaKeys)]
  const own = [
    insertion(metaSpan.start + 1, keepsSome(meta, cut) ? `${said},` : said, 'meta'),
    ...cutNamed(meta, cut, 'meta'),
  ]
  return inOrder([...outside, ...own])
}

/** The program's description of itself, in the result of `initialize`. */
function aboutIn(handshake: Uint8Array): ServerAbout | undefined {
  const line = toLine(handshake)
  const meta = membersAt(line, membersAt(line, { start: 0, end: line.length })?.span('_meta'))
  const span = meta?.span(aboutKey)
  const about: unknown = span === undefined ? undefined : parse(rawAt(line, span))
  return isAbout(about) ? about : undefined
}

function isAbout(value: unknown): value is ServerAbout {
  return (
    typeof value === 'object' &&
    value !== null &&
    'runtime' in value &&
    'isolation' in value &&
    'network' in value &&
    'tools' in value &&
    Array.isArray(value.tools)
  )
}
