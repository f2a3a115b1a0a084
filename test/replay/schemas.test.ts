// Every frame of the transcripts of 2026-07-28, on both sides of the proxy, against the published schema of that side.
//
// The schemas are no part of the project: MCP_SCHEMAS names a folder with one folder for each revision.

import assert from 'node:assert/strict'
import { readFileSync, readdirSync } from 'node:fs'
import { basename, join } from 'node:path'
import process from 'node:process'
import { describe, it } from 'node:test'
import { Ajv } from 'ajv'
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'
import { at, parsed, textAt } from '../integration/support/json.js'
import { cli, fixtures, folder, run } from './support.js'

const newest = '2026-07-28'
const schemas = process.env['MCP_SCHEMAS']
const claimed = 'io.modelcontextprotocol/protocolVersion'

/** Revisions whose schemas are of an older dialect, with their definitions at another place. */
const older = ['2024-11-05', '2025-03-26', '2025-06-18']

/** Of one revision, the validators by the names of its definitions. */
class Schema {
  readonly #ajv: Ajv | Ajv2020
  readonly #path: string
  readonly #known = new Map<string, ValidateFunction | undefined>()

  constructor(revision: string) {
    const value = parsed(readFileSync(join(schemas ?? '', revision, 'schema.json'), 'utf8'))
    const options = { strict: false, validateFormats: false, logger: false } as const
    this.#ajv = older.includes(revision) ? new Ajv(options) : new Ajv2020(options)
    this.#path = older.includes(revision) ? 'definitions' : '$defs'
    this.#ajv.addSchema(Object(value), 'mcp')
  }

  /** Undefined where the revision has no such definition. */
  of(name: string): ValidateFunction | undefined {
    if (!this.#known.has(name)) this.#known.set(name, this.#ajv.getSchema(`mcp#/${this.#path}/${name}`))
    return this.#known.get(name)
  }
}

const loaded = new Map<string, Schema>()

function schemaOf(revision: string): Schema {
  const known = loaded.get(revision) ?? new Schema(revision)
  loaded.set(revision, known)
  return known
}

/** `tools/call` -> `CallTool`. */
const definitions: Readonly<Record<string, string>> = {
  'completion/complete': 'Complete',
  initialize: 'Initialize',
  'prompts/get': 'GetPrompt',
  'prompts/list': 'ListPrompts',
  'resources/list': 'ListResources',
  'resources/read': 'ReadResource',
  'resources/templates/list': 'ListResourceTemplates',
  'server/discover': 'Discover',
  'subscriptions/listen': 'SubscriptionsListen',
  'tools/call': 'CallTool',
  'tools/list': 'ListTools',
  'elicitation/create': 'Elicit',
  'roots/list': 'ListRoots',
  'sampling/createMessage': 'CreateMessage',
}

/** Errors that 2026-07-28 defines, by their numbers. */
const errors: Readonly<Record<string, string>> = {
  '-32020': 'HeaderMismatchError',
  '-32021': 'MissingRequiredClientCapabilityError',
  '-32022': 'UnsupportedProtocolVersionError',
}

/** One frame of one hop, in the order in which it passed. */
interface Passed {
  readonly frame: unknown
  /** Which connection of which side. */
  readonly hop: string
  /** Whether the client of that connection wrote it: at a server that is the proxy. */
  readonly isOfClient: boolean
  readonly isOfProxy: boolean
}

function passedIn(file: string): Passed[] {
  const lines = readFileSync(file, 'utf8').split('\n')
  return lines.flatMap((text) => {
    const line = text === '' ? undefined : parsed(text)
    const frame = at(line, 'frame')
    if (frame === undefined) return []
    const isUpstream = at(line, 'hop') === 'upstream'
    const isOut = at(line, 'dir') === 'out'
    const hop = `${textAt(line, 'service')} ${String(at(line, 'conn'))}`
    return [{ frame, hop, isOfClient: isUpstream === isOut, isOfProxy: isOut }]
  })
}

interface Asked {
  readonly method: string
  readonly revision: string
  readonly request: Passed
}

/** Finds the faults in the frames of one run. The proxy is not responsible for frames that it has refused. */
class Judge {
  /** Of connections that have shaken hands. */
  readonly #agreed = new Map<string, string>()
  readonly #asked = new Map<string, Asked>()
  readonly #doubtful = new Map<Passed, string>()
  readonly problems: string[] = []
  frames = 0

  take(passed: Passed): void {
    const { frame, hop, isOfClient } = passed
    this.frames++
    const method = at(frame, 'method')
    const id = JSON.stringify(at(frame, 'id'))
    if (typeof method !== 'string')
      return this.#answered(passed, this.#asked.get(`${hop} ${!isOfClient} ${id}`))
    const revision = this.#revisionOf(passed, method)
    if (at(frame, 'id') !== undefined)
      this.#asked.set(`${hop} ${isOfClient} ${id}`, { method, revision, request: passed })
    const side = isOfClient ? 'Client' : 'Server'
    const kind = at(frame, 'id') === undefined ? 'Notification' : 'Request'
    const why = this.#why(frame, schemaOf(revision).of(`${side}${kind}`), revision)
    if (why === undefined) return
    // Answers pass as a client gives them.
    const isPassed = at(frame, 'params', 'inputResponses') !== undefined
    if (kind === 'Notification' || (passed.isOfProxy && !isPassed)) this.problems.push(why)
    // The answer tells whether it was meant to be wrong.
    else this.#doubtful.set(passed, why)
  }

  #revisionOf({ frame, hop }: Passed, method: string): string {
    if (at(frame, 'params', '_meta', claimed) !== undefined) return newest
    if (method === 'initialize') return '2025-11-25'
    return this.#agreed.get(hop) ?? newest
  }

  #answered(passed: Passed, asked: Asked | undefined): void {
    const { frame, hop } = passed
    if (asked === undefined) return
    const { method, revision, request } = asked
    const error = at(frame, 'error')
    const doubt = this.#doubtful.get(request)
    if (doubt !== undefined && error === undefined) this.problems.push(doubt)
    if (method === 'initialize' && error === undefined)
      this.#agreed.set(hop, textAt(frame, 'result', 'protocolVersion'))
    const schema = schemaOf(revision)
    if (error !== undefined) {
      const own = revision === newest ? errors[String(at(error, 'code'))] : undefined
      const name =
        own ?? (schema.of('JSONRPCErrorResponse') === undefined ? 'JSONRPCError' : 'JSONRPCErrorResponse')
      return this.#judge(passed, schema.of(name), revision)
    }
    const definition = definitions[method] ?? 'Empty'
    const whole = schema.of(`${definition}ResultResponse`)
    if (whole !== undefined) this.#judge(passed, whole, revision)
    else this.#judge({ ...passed, frame: at(frame, 'result') }, schema.of(`${definition}Result`), revision)
  }

  /** Servers of the transcripts break their revision where a transcript is about that. */
  #judge({ frame, isOfProxy }: Passed, validate: ValidateFunction | undefined, revision: string): void {
    const why = this.#why(frame, validate, revision)
    if (why !== undefined && isOfProxy) this.problems.push(why)
  }

  #why(frame: unknown, validate: ValidateFunction | undefined, revision: string): string | undefined {
    const what = `of ${revision}: ${JSON.stringify(frame).slice(0, 400)}`
    if (validate === undefined) return `no definition for this frame ${what}`
    if (validate(frame)) return undefined
    const reasons = (validate.errors ?? []).map(
      ({ instancePath, message }) => `${instancePath} ${message ?? ''}`,
    )
    return `${reasons.slice(0, 6).join('; ')} ${what}`
  }
}

describe(
  'every frame of a transcript is valid',
  { skip: schemas === undefined && 'MCP_SCHEMAS is not set' },
  () => {
    // Tasks are an extension, with a separate schema.
    for (const name of readdirSync(fixtures).filter((each) => /^n-(?!.*tasks).*\.jsonl$/.test(each)))
      it(basename(name, '.jsonl'), async () => {
        const record = join(folder, `schemas-${name}`)
        const self = [process.execPath, cli, '--record', record]
        const { code, out } = await run(join(fixtures, name), {}, self)
        assert.equal(code, 0, out)
        const judge = new Judge()
        for (const passed of passedIn(record)) judge.take(passed)
        assert.deepEqual(judge.problems, [])
        assert(judge.frames > 0)
      })
  },
)
