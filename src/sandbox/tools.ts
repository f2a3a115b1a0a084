// The tools in the order in which the server lists them: names, descriptions, schemas and calls.

import { Buffer } from 'node:buffer'
import { writeIndented } from '../jsonrpc/text.js'
import type { LogSink, Runtime } from '../runtime/runtime.js'
import { type SandboxSettings, flavorNames, olderToolNames } from '../upstream/contracts/sandbox-config.js'
import { AllowedHosts } from './egress/allowed-hosts.js'
import { fileFailed, noSuchSession, wrongArgument } from './errors.js'
import {
  type Artifact,
  type FileEntry,
  FileText,
  fileBytesMax,
  inLargeTurn,
  listFiles,
  mimeTypeOf,
  readFile,
  resourceUri,
  writeFile,
} from './files.js'
import { type Arguments, type Parameter, type Schema, choice, integer, text, texts } from './parameters.js'
import type { CallResult, CallTerms, SandboxSession } from './sandbox-session.js'
import type { Sessions } from './sessions.js'
import { type MachineUse, type Turns, readAll } from './runs.js'

/** A tool as `tools/list` shows it, and the function that runs it. */
export interface SandboxTool {
  readonly name: string
  readonly description: string
  readonly inputSchema: Schema
  readonly outputSchema: Schema
  /** @throws SandboxError */
  readonly run: (call: ToolCall) => Promise<ToolResult>
}

/** One block of content (MCP, Tool result). */
export type ContentBlock =
  | { readonly type: 'text'; readonly text: string | FileText }
  | { readonly type: 'image'; readonly data: string; readonly mimeType: string }
  | {
      readonly type: 'resource_link'
      readonly uri: string
      readonly name: string
      readonly mimeType: string
      readonly size: number
    }

export interface ToolResult {
  readonly content: readonly ContentBlock[]
  readonly isError: boolean
  /** Members at the top of the result and in `structuredContent`. */
  readonly facts: Readonly<Record<string, unknown>>
  /** Members in `structuredContent` alone, for clients that show nothing else. */
  readonly shown?: Readonly<Record<string, unknown>>
  /** The content of a file that the members above contain. */
  readonly file?: FileText
}

/** The parts that all calls of a service share. */
export interface ToolAround {
  readonly settings: SandboxSettings
  readonly sessions: Sessions
  readonly runtime: Runtime
  /** The turns for large reads of all sessions. */
  readonly largeReads: Turns
  readonly log: LogSink
}

export interface ToolCall extends ToolAround {
  readonly args: Arguments
  /** The principal whose sessions the call may use. */
  readonly owner: string
  readonly signal: AbortSignal
  /** Resolves when the connection to the client accepts bytes, or is closed. */
  readonly whenWritable: () => Promise<void>
  /** Called with output while it arrives, when the client wants progress. */
  readonly onOutput: ((chunk: Buffer) => void) | undefined
}

/** Other names of a template, which older clients use. */
const templateAliases: ReadonlyMap<string, string> = new Map([
  ['nodejs', 'node'],
  ['javascript', 'node'],
])

/** The number of characters of a session's id in the name of its sandbox. */
const NAME_LENGTH = 8

const stringType = { type: 'string' }
const integerType = { type: 'integer' }
const booleanType = { type: 'boolean' }
const stringsType = { type: 'array', items: stringType }
const arrayOf = (items: Schema): Schema => ({ type: 'array', items })

export function toolsOf(settings: SandboxSettings): readonly SandboxTool[] {
  return [...runTools(settings), ...sessionTools(settings), ...(settings.files ? fileTools(settings) : [])]
}

/** The tool of that current or earlier name. */
export function toolNamed(name: string, tools: readonly SandboxTool[]): SandboxTool | undefined {
  const current = olderToolNames.get(name) ?? name
  return tools.find((tool) => tool.name === current)
}

const code = text('code', 'Code to execute')
const command = text('command', 'Command to execute')
const commandArguments = texts('args', 'Optional command arguments')

function runTools(settings: SandboxSettings): SandboxTool[] {
  const hint = sessionHint(settings)
  const parameters = runParameters(settings)
  return [
    {
      name: 'execute_code',
      description: `Execute code in a sandbox with automatic session management. ${hint}`,
      inputSchema: input([code], Object.values(parameters)),
      outputSchema: runOutput({ template: stringType, code_success: booleanType }),
      run: async (call) => {
        const source = call.args.need(code)
        const ran = await runInSession(call, parameters, (session, terms) => session.runCode(source, terms))
        const { template } = ran.session.facts
        return runToolResult(ran, call, { template, code_success: ran.result.isSuccess })
      },
    },
    {
      name: 'execute_command',
      description: `Execute a command in a sandbox with automatic session management. ${hint}`,
      inputSchema: input([command], [commandArguments, ...Object.values(parameters)]),
      outputSchema: runOutput({ command: stringType, args: stringsType, exit_code: integerType }),
      run: async (call) => {
        const line = call.args.need(command)
        const args = call.args.get(commandArguments)
        // Without `args`, `command` is a line for the shell.
        const [program, given] = args === undefined ? ['sh', ['-c', line]] : [line, args]
        const run = (session: SandboxSession, terms: CallTerms): Promise<CallResult> =>
          session.runCommand(program, given, terms)
        const ran = await runInSession(call, parameters, run)
        return runToolResult(ran, call, { command: line, args: args ?? [], exit_code: ran.result.exitCode })
      },
    },
  ]
}

const queriedSession = text('session_id', 'Optional specific session ID to query')
const stoppedSession = text('session_id', 'ID of the session to stop')

function sessionTools(settings: SandboxSettings): SandboxTool[] {
  return [
    {
      name: 'get_sessions',
      description: 'Get information about active sandbox sessions',
      inputSchema: input([], [queriedSession]),
      outputSchema: object({ sessions: arrayOf(object(sessionOutput)) }),
      run: async ({ args, sessions, owner }) => {
        const id = args.get(queriedSession)
        const all = sessions.of(owner)
        const found = id === undefined ? all : all.filter(({ facts }) => facts.id === id)
        if (id !== undefined && found.length === 0) throw noSuchSession(id)
        const shown = found.map(shownSession)
        return textResult(writeIndented(shown), { sessions: shown })
      },
    },
    {
      name: 'stop_session',
      description: 'Stop a specific sandbox session and clean up its resources',
      inputSchema: input([stoppedSession]),
      outputSchema: object({ success: booleanType, session_id: stringType }),
      run: async ({ args, sessions, owner }) => {
        const id = args.need(stoppedSession)
        const success = await sessions.stop(id, owner)
        const text = success ? `Session ${id} stopped successfully` : `Session ${id} not found`
        return textResult(text, { success, session_id: id })
      },
    },
    {
      name: 'get_volume_path',
      description: 'Get configured volume mappings between host and container paths',
      inputSchema: input([]),
      outputSchema: object({
        volume_mappings: arrayOf(
          object({ host_path: stringType, container_path: stringType, read_only: booleanType }, [
            'host_path',
            'container_path',
          ]),
        ),
      }),
      run: async () => {
        const mappings = settings.volumes.map(({ hostPath, guestPath, isReadOnly }) => {
          return { host_path: hostPath, container_path: guestPath, read_only: isReadOnly }
        })
        return textResult(writeIndented(mappings), { volume_mappings: mappings })
      },
    },
  ]
}

const fileSession = text('session_id', 'ID of the session')
const filePath = text('path', 'Path of the file, from the working folder of the session')
const fileOffset = integer('offset', 'First byte to read', [0], { default: 0 })
const fileContent = text('content', 'Content of the file')
const fileEncoding = choice('encoding', 'How content is written', ['utf8', 'base64'], 'utf8')
const folderPath = text('path', 'Path of the folder, from the working folder of the session', {
  default: '.',
})

function fileTools({ outputBytesMax }: SandboxSettings): SandboxTool[] {
  const limit = integer('limit', 'Most bytes to read', [1, fileBytesMax], { default: outputBytesMax })
  return [
    {
      name: 'read_file',
      description: 'Read a file of a sandbox session',
      inputSchema: input([fileSession, filePath], [fileOffset, limit]),
      outputSchema: object({ ...fileOutput, data: stringType }, Object.keys(fileOutput)),
      run: (call) => readFileCall(call, call.args.get(limit) ?? outputBytesMax),
    },
    {
      name: 'write_file',
      description: 'Write a file of a sandbox session; folders on the way are made',
      inputSchema: input([fileSession, filePath, fileContent], [fileEncoding]),
      outputSchema: object({
        session_id: stringType,
        session_created: booleanType,
        path: stringType,
        size: integerType,
      }),
      run: writeFileCall,
    },
    {
      name: 'list_files',
      description: 'List a folder of a sandbox session',
      inputSchema: input([fileSession], [folderPath]),
      outputSchema: object({
        path: stringType,
        entries: arrayOf(object(entryOutput)),
        truncated: booleanType,
      }),
      run: listFilesCall,
    },
  ]
}

async function readFileCall(call: ToolCall, limit: number): Promise<ToolResult> {
  const path = call.args.need(filePath)
  const offset = call.args.get(fileOffset) ?? 0
  const { bytes, size } = await inLargeTurn(call, limit, () =>
    onFiles(sessionOf(call), call, (where) => readFile(where, path, offset, limit)),
  )
  const file = new FileText(bytes)
  const truncated = offset + bytes.length < size
  const facts = { path, size, offset, length: bytes.length, encoding: file.encoding, truncated }
  return { ...textResult(file, facts), shown: { data: file }, file }
}

/** Opens the session when it does not exist. */
async function writeFileCall(call: ToolCall): Promise<ToolResult> {
  const { args, sessions, owner } = call
  const [id, path] = [args.need(fileSession), args.need(filePath)]
  const bytes = Buffer.from(args.need(fileContent), args.get(fileEncoding) ?? 'utf8')
  if (bytes.length > fileBytesMax)
    throw wrongArgument(`Parameter 'content' must have at most ${fileBytesMax} bytes`, 'content')
  const { session, isCreated } = sessions.open({ id, owner, template: undefined, flavor: undefined })
  await onFiles(session, call, (where) => writeFile(where, path, bytes))
  const facts = { session_id: id, session_created: isCreated, path, size: bytes.length }
  return textResult(`Wrote ${bytes.length} bytes to ${path}`, facts)
}

async function listFilesCall(call: ToolCall): Promise<ToolResult> {
  const path = call.args.get(folderPath) ?? '.'
  const { entries: found, isCut: truncated } = await onFiles(sessionOf(call), call, (where) =>
    listFiles(where, path),
  )
  const lines = [...found.map(lineOf), ...(truncated ? ['… and more, which are not shown'] : [])]
  const entries = found.map(({ name, type, size, modifiedMs }) => {
    return { name, type, size, modified: new Date(modifiedMs).toISOString() }
  })
  return textResult(lines.join('\n'), { path, entries, truncated })
}

function lineOf({ name, type, size }: FileEntry): string {
  return type === 'folder' ? `${name}/` : `${name} (${size} bytes)`
}

/** @throws SandboxError */
function sessionOf({ args, sessions, owner }: ToolCall): SandboxSession {
  const id = args.need(fileSession)
  const session = sessions.find(id, owner)
  if (session === undefined) throw noSuchSession(id)
  return session
}

/** @throws SandboxError */
async function onFiles<T>(
  session: SandboxSession,
  { signal }: ToolCall,
  use: (where: MachineUse) => Promise<T>,
): Promise<T> {
  const made = await session.useMachine(signal, async (where) => ({ value: await use(where) }))
  if (made === undefined) throw fileFailed('this runtime gives no access to files', {})
  return made.value
}

export interface Ran {
  readonly session: SandboxSession
  readonly isCreated: boolean
  readonly ms: number
  readonly result: CallResult
}

/** Finds or opens the session, runs the call, and measures its time. @throws SandboxError */
async function runInSession(
  call: ToolCall,
  parameters: ReturnType<typeof runParameters>,
  run: (session: SandboxSession, terms: CallTerms) => Promise<CallResult>,
): Promise<Ran> {
  const { args, settings, sessions, owner, runtime, signal, onOutput } = call
  const template = args.get(parameters.template)
  const flavor = args.get(parameters.flavor)
  const seconds = args.get(parameters.timeout)
  const { session, isCreated } = sessions.open({ id: args.get(parameters.session), owner, template, flavor })
  const timeoutMs = seconds === undefined ? settings.executionTimeoutMs : seconds * 1000
  const beganAt = runtime.now()
  const result = await run(session, { timeoutMs, signal, onOutput })
  return { session, isCreated, ms: runtime.now() - beganAt, result }
}

function shownSession({ facts, lastAccessedMs, state }: SandboxSession): Readonly<Record<string, string>> {
  const { id, template, flavor, createdAtMs } = facts
  return {
    session_id: id,
    template,
    flavor,
    created_at: new Date(createdAtMs).toISOString(),
    last_accessed: new Date(lastAccessedMs).toISOString(),
    status: state,
    namespace: 'default',
    sandbox_name: `session-${id.slice(0, NAME_LENGTH)}`,
  }
}

function textResult(text: string | FileText, facts: ToolResult['facts']): ToolResult {
  return { content: [{ type: 'text', text }], isError: false, facts }
}

function input(
  required: readonly Parameter<unknown>[],
  optional: readonly Parameter<unknown>[] = [],
): Schema {
  const properties = [...required, ...optional].map(({ name, schema }) => [name, schema] as const)
  const names = required.map(({ name }) => name)
  return object(Object.fromEntries(properties), names)
}

/** The schema of an object with these members; all are required unless `required` names some. */
function object(properties: Schema, required: readonly string[] = Object.keys(properties)): Schema {
  return { type: 'object', properties, ...(required.length > 0 && { required }) }
}

const sessionOutput = {
  session_id: stringType,
  template: stringType,
  flavor: stringType,
  created_at: stringType,
  last_accessed: stringType,
  status: stringType,
  namespace: stringType,
  sandbox_name: stringType,
}

const fileOutput = {
  path: stringType,
  size: integerType,
  offset: integerType,
  length: integerType,
  encoding: { enum: ['utf8', 'base64'] },
  truncated: booleanType,
}

const entryOutput = {
  name: stringType,
  type: { enum: ['file', 'folder', 'link', 'other'] },
  size: integerType,
  modified: stringType,
}

const artifactOutput = { uri: stringType, path: stringType, size: integerType, mime_type: stringType }

/** The result of a run tool; `own` are the members that no other tool has. */
function runOutput(own: Schema): Schema {
  const always = { session_id: stringType, execution_time_ms: integerType, session_created: booleanType }
  const more = {
    truncated: booleanType,
    sandbox_restarted: booleanType,
    artifacts: arrayOf(object(artifactOutput)),
    stdout: stringType,
    stderr: stringType,
  }
  return object({ ...always, ...more, ...own }, Object.keys({ ...always, ...own }))
}

/** The parameters that both run tools share. */
function runParameters({ templates, defaultFlavor, executionTimeoutMsMax }: SandboxSettings) {
  const names = templates.map(({ name }) => name)
  const flavors = 'Resource configuration for the sandbox'
  return {
    template: choice('template', 'Sandbox template', names, names[0], templateAliases),
    session: text('session_id', 'Optional session ID for session reuse'),
    flavor: choice('flavor', flavors, flavorNames, defaultFlavor),
    timeout: integer('timeout', 'Optional execution timeout in seconds', [1, executionTimeoutMsMax / 1000]),
  }
}

/** Facts about sessions that a model needs before it begins one. */
function sessionHint({ network, templates, volumes }: SandboxSettings): string {
  const names = templates.map(({ name, language }) => (name === language ? name : `${name} (${language})`))
  const installed = `There are ${names.join(' and ')} with their standard libraries, and the usual programs of a shell.`
  const folders = volumes.length === 0 ? '' : ` Folders of the host: ${volumes.map(shownVolume).join(', ')}.`
  return `A session keeps variables, files and processes: give the session_id of an earlier result, or a name of your own to begin one. ${reachOf(network)} ${installed}${folders}`
}

function reachOf(network: SandboxSettings['network']): string {
  switch (network.kind) {
    case 'none':
      return 'Programs reach no network.'
    case 'host':
      return 'Programs reach the network of the host.'
    case 'allow':
      return `Programs reach these hosts alone, over https://: ${new AllowedHosts(network.hosts).shown}.`
  }
}

function shownVolume({ guestPath, isReadOnly }: SandboxSettings['volumes'][number]): string {
  return isReadOnly ? `${guestPath} (read only)` : guestPath
}

/** The most bytes of an image that the result includes. */
const IMAGE_BYTES_MAX = 128 * 1024

/** The image types that clients show. */
const SHOWN_TYPES = new Set(['image/png', 'image/jpeg', 'image/svg+xml'])

/** `own` has the members that only this tool returns. */
async function runToolResult(
  { session, isCreated, ms, result }: Ran,
  call: ToolCall,
  own: Readonly<Record<string, unknown>>,
): Promise<ToolResult> {
  const { stdout, stderr, isCut, isRestarted, artifacts } = result
  const { id } = session.facts
  const text = [stdout, stderr].filter((each) => each !== '').join(stdout.endsWith('\n') ? '' : '\n')
  const facts = {
    session_id: id,
    execution_time_ms: Math.round(ms),
    session_created: isCreated,
    ...own,
    truncated: isCut,
    sandbox_restarted: isRestarted,
    artifacts: artifacts.map(({ path, bytes }) => {
      return { uri: resourceUri(id, path), path, size: bytes, mime_type: mimeTypeOf(path) }
    }),
  }
  const content = [
    { type: 'text' as const, text },
    ...(await blocksOf(artifacts, session, call)),
    // Many models see only the content.
    { type: 'text' as const, text: `[session_id: ${id}]` },
  ]
  return { content, isError: !result.isSuccess, facts, shown: { stdout, stderr } }
}

async function blocksOf(
  artifacts: readonly Artifact[],
  session: SandboxSession,
  { settings, signal }: ToolCall,
): Promise<ContentBlock[]> {
  if (!settings.files) return []
  const links = artifacts.map(({ path, bytes }) => linkTo(session, path, bytes))
  const images = artifacts.filter(
    ({ path, bytes }) => bytes <= IMAGE_BYTES_MAX && SHOWN_TYPES.has(mimeTypeOf(path)),
  )
  if (images.length === 0) return links
  const shown = await session.useMachine(signal, (where) =>
    Promise.all(images.map(({ path }) => imageOf(where, path))),
  )
  return [...links, ...(shown ?? []).flat()]
}

function linkTo({ facts: { id } }: SandboxSession, path: string, size: number): ContentBlock {
  const name = path.slice(path.lastIndexOf('/') + 1)
  return { type: 'resource_link', uri: resourceUri(id, path), name, mimeType: mimeTypeOf(path), size }
}

async function imageOf(where: MachineUse, path: string): Promise<ContentBlock[]> {
  const read = await readAll(where, ['cat', '--', path], IMAGE_BYTES_MAX)
  if (read.kind !== 'read') return []
  return [{ type: 'image', data: read.bytes.toString('base64'), mimeType: mimeTypeOf(path) }]
}

// The files of sessions as resources: `sandbox://{session_id}/{path}`.

export const resourceTemplate = 'sandbox://{session_id}/{+path}'

/** Returns undefined for a URI of another form. */
function readResourceUri(uri: string): { readonly sessionId: string; readonly path: string } | undefined {
  const [, sessionId, path] = /^sandbox:\/\/([A-Za-z0-9._-]{1,128})\/(.+)$/.exec(uri) ?? []
  if (sessionId === undefined || path === undefined) return undefined
  try {
    return { sessionId, path: decodeURIComponent(path) }
  } catch {
    return undefined
  }
}

export interface ResourceContents {
  readonly uri: string
  readonly mimeType: string
  readonly text?: FileText
  /** The content in base64. */
  readonly blob?: FileText
}

/** Returns the contents and the text in them; undefined when the session does not exist, or the URI has another form. @throws SandboxError */
export async function readResource(
  uri: string,
  call: Omit<ToolCall, 'args' | 'onOutput'>,
): Promise<{ readonly contents: ResourceContents; readonly file: FileText } | undefined> {
  const place = readResourceUri(uri)
  const session = place && call.sessions.find(place.sessionId, call.owner)
  if (place === undefined || session === undefined) return undefined
  const { path } = place
  const part = await inLargeTurn(call, fileBytesMax, () =>
    session.useMachine(call.signal, (where) => readFile(where, path, 0, fileBytesMax + 1)),
  )
  if (part === undefined) return undefined
  const { bytes, size } = part
  if (size > fileBytesMax)
    throw fileFailed(`${path}: it has ${size} bytes, and a resource at most ${fileBytesMax}`, { path, size })
  const mimeType = mimeTypeOf(path)
  const file = new FileText(bytes)
  return {
    file,
    contents: { uri, mimeType, ...(file.encoding === 'utf8' ? { text: file } : { blob: file }) },
  }
}
