// The tools in the order in which the server lists them: names, descriptions, schemas of arguments, and calls.

import { Buffer } from 'node:buffer'
import type PQueue from 'p-queue'
import { writeIndented } from '../jsonrpc/text.js'
import { type SandboxSettings, flavorNames, olderToolNames } from '../upstream/contracts/sandbox-config.js'
import { shownHosts } from './egress/allowed-hosts.js'
import { fileFailed, noSuchSession, resourceLimit, wrongArgument } from './errors.js'
import {
  type Artifact,
  fileBytesMax,
  listFiles,
  mimeTypeOf,
  readFile,
  resourceUri,
  writeFile,
} from './files.js'
import { type Arguments, type Parameter, type Schema, enumOf, int, string, strings } from './parameters.js'
import type { CallResult, CallTerms, SandboxSession, SessionContext, Sessions } from './sessions.js'
import { type MachineUse, inTurn, runToEnd } from './runs.js'

export interface SandboxTool {
  readonly name: string
  readonly description: string
  readonly inputSchema: Schema
  /** @throws SandboxError */
  readonly run: (call: ToolCall) => Promise<ToolResult>
}

type Members = Readonly<Record<string, unknown>>

export interface ToolResult {
  /** Blocks of content (MCP, Tool result). */
  readonly content: readonly Members[]
  readonly isError: boolean
  /** Members at the top of the result and in `structuredContent`. */
  readonly facts: Members
  /** Members of `structuredContent` alone, for clients that show nothing else. */
  readonly shown?: Members
}

/** A call of a tool, or a read of a resource, which has no arguments. */
export interface ToolCall extends Pick<SessionContext, 'settings' | 'runtime'> {
  readonly sessions: Sessions
  readonly largeReads: PQueue
  /** The principal whose sessions the call may use. */
  readonly owner: string
  readonly args: Arguments
  readonly abort: AbortController
  /** Resolves when the client has received the earlier results, or has cancelled the call. */
  readonly drained: () => Promise<void>
  /** Called with output when it arrives, if the client wants progress. */
  readonly onOutput: ((chunk: Buffer) => void) | undefined
}

const NAME_LENGTH = 8

export function toolsOf(settings: SandboxSettings): readonly SandboxTool[] {
  return [...runTools(settings), ...sessionTools(settings), ...(settings.files ? fileTools(settings) : [])]
}

export function toolNamed(name: string, tools: readonly SandboxTool[]): SandboxTool | undefined {
  const current = olderToolNames.get(name) ?? name
  return tools.find((tool) => tool.name === current)
}

const code = string('code', 'Code to execute')
const command = string('command', 'Command to execute')
const commandArguments = strings('args', 'Optional command arguments')

function runTools(settings: SandboxSettings): SandboxTool[] {
  const hint = sessionHint(settings)
  const parameters = runParameters(settings)
  return [
    {
      name: 'execute_code',
      description: `Execute code in a sandbox with automatic session management. ${hint}`,
      inputSchema: input([code], Object.values(parameters)),
      run: async (call) => {
        const source = call.args.need(code)
        const ran = await runInSession(call, parameters, (session, terms) => session.runCode(source, terms))
        const { template } = ran.session.facts
        return runToolResult(ran, call, { template, code_success: ran.exitCode === 0 })
      },
    },
    {
      name: 'execute_command',
      description: `Execute a command in a sandbox with automatic session management. ${hint}`,
      inputSchema: input([command], [commandArguments, ...Object.values(parameters)]),
      run: async (call) => {
        const line = call.args.need(command)
        const args = call.args.get(commandArguments)
        // Without `args`, `command` is a line for the shell.
        const [program, given] = args === undefined ? ['sh', ['-c', line]] : [line, args]
        const ran = await runInSession(call, parameters, (session, terms) =>
          session.runCommand(program, given, terms),
        )
        return runToolResult(ran, call, { command: line, args: args ?? [], exit_code: ran.exitCode })
      },
    },
  ]
}

const queriedSession = string('session_id', 'Optional specific session ID to query')
const stoppedSession = string('session_id', 'ID of the session to stop')

function sessionTools(settings: SandboxSettings): SandboxTool[] {
  return [
    {
      name: 'get_sessions',
      description: 'Get information about active sandbox sessions',
      inputSchema: input([], [queriedSession]),
      run: async ({ args, sessions, owner }) => {
        const id = args.get(queriedSession)
        const found = sessions.of(owner).filter(({ facts }) => id === undefined || facts.id === id)
        if (id !== undefined && found.length === 0) throw noSuchSession(id)
        const shown = found.map(shownSession)
        return textResult(writeIndented(shown), { sessions: shown })
      },
    },
    {
      name: 'stop_session',
      description: 'Stop a specific sandbox session and clean up its resources',
      inputSchema: input([stoppedSession]),
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
      run: async () => {
        const mappings = settings.volumes.map(({ hostPath, guestPath, isReadOnly }) => {
          return { host_path: hostPath, container_path: guestPath, read_only: isReadOnly }
        })
        return textResult(writeIndented(mappings), { volume_mappings: mappings })
      },
    },
  ]
}

const fileSession = string('session_id', 'ID of the session')
const filePath = string('path', 'Path of the file, from the working folder of the session')
const fileOffset = int('offset', 'First byte to read', [0], { default: 0 })
const fileContent = string('content', 'Content of the file')
const fileEncoding = enumOf('encoding', 'How content is written', ['utf8', 'base64'], 'utf8')
const folderPath = string('path', 'Path of the folder, from the working folder of the session', {
  default: '.',
})

function fileTools({ outputMaxBytes }: SandboxSettings): SandboxTool[] {
  const limit = int('limit', 'Most bytes to read', [1, fileBytesMax], { default: outputMaxBytes })
  return [
    {
      name: 'read_file',
      description: 'Read a file of a sandbox session',
      inputSchema: input([fileSession, filePath], [fileOffset, limit]),
      run: (call) => readFileCall(call, call.args.get(limit) ?? outputMaxBytes),
    },
    {
      name: 'write_file',
      description: 'Write a file of a sandbox session; folders on the way are made',
      inputSchema: input([fileSession, filePath, fileContent], [fileEncoding]),
      run: writeFileCall,
    },
    {
      name: 'list_files',
      description: 'List a folder of a sandbox session',
      inputSchema: input([fileSession], [folderPath]),
      run: listFilesCall,
    },
  ]
}

/** A read above this many bytes is large. A result contains the file several times, as bytes and as JSON. */
const LARGE_BYTES = 256 * 1024

const LARGE_READS_WAITING_MAX = 64

/** Runs a read. A large read waits for its turn among those of all sessions. @throws SandboxError */
async function inLargeTurn<T>(
  { largeReads, abort, drained }: ToolCall,
  bytesMax: number,
  read: () => Promise<T>,
): Promise<T> {
  if (bytesMax <= LARGE_BYTES) return read()
  const done = inTurn(largeReads, LARGE_READS_WAITING_MAX, abort.signal, async () => {
    await drained()
    return read()
  })
  if (done === undefined)
    throw resourceLimit('too many large files are being read', {}, 'Read smaller parts with offset and limit')
  return done
}

async function readFileCall(call: ToolCall, limit: number): Promise<ToolResult> {
  const path = call.args.need(filePath)
  const offset = call.args.get(fileOffset) ?? 0
  const { bytes, size, encoding } = await inLargeTurn(call, limit, () =>
    sessionOf(call).useMachine(call.abort, (where) => readFile(where, path, offset, limit)),
  )
  const data = bytes.toString(encoding)
  const truncated = offset + bytes.length < size
  const facts = { path, size, offset, length: bytes.length, encoding, truncated }
  return { ...textResult(data, facts), shown: { data } }
}

async function writeFileCall(call: ToolCall): Promise<ToolResult> {
  const { args, sessions, owner, abort } = call
  const [id, path] = [args.need(fileSession), args.need(filePath)]
  const bytes = Buffer.from(args.need(fileContent), args.get(fileEncoding) ?? 'utf8')
  if (bytes.length > fileBytesMax)
    throw wrongArgument(`Parameter 'content' must have at most ${fileBytesMax} bytes`, 'content')
  const { session, isCreated } = sessions.open({ id, owner, template: undefined, flavor: undefined })
  await session.useMachine(abort, (where) => writeFile(where, path, bytes))
  const facts = { session_id: id, session_created: isCreated, path, size: bytes.length }
  return textResult(`Wrote ${bytes.length} bytes to ${path}`, facts)
}

async function listFilesCall(call: ToolCall): Promise<ToolResult> {
  const path = call.args.get(folderPath) ?? '.'
  const { entries, isCut } = await sessionOf(call).useMachine(call.abort, (where) => listFiles(where, path))
  const lines = entries.map(({ name, type, size }) =>
    type === 'folder' ? `${name}/` : `${name} (${size} bytes)`,
  )
  const more = isCut ? ['… and more, which are not shown'] : []
  return textResult([...lines, ...more].join('\n'), { path, entries, truncated: isCut })
}

function sessionOf({ args, sessions, owner }: ToolCall): SandboxSession {
  const id = args.need(fileSession)
  const session = sessions.find(id, owner)
  if (session === undefined) throw noSuchSession(id)
  return session
}

interface Ran extends CallResult {
  readonly session: SandboxSession
  readonly isCreated: boolean
  readonly ms: number
}

async function runInSession(
  call: ToolCall,
  parameters: ReturnType<typeof runParameters>,
  run: (session: SandboxSession, terms: CallTerms) => Promise<CallResult>,
): Promise<Ran> {
  const { args, settings, sessions, owner, runtime, abort, onOutput } = call
  const template = args.get(parameters.template)
  const flavor = args.get(parameters.flavor)
  const seconds = args.get(parameters.timeout)
  const { session, isCreated } = sessions.open({ id: args.get(parameters.session), owner, template, flavor })
  const timeoutMs = seconds === undefined ? settings.executionTimeoutMs : seconds * 1000
  const beganAt = runtime.now()
  const result = await run(session, { timeoutMs, abort, onOutput })
  return { ...result, session, isCreated, ms: runtime.now() - beganAt }
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

function textResult(text: string, facts: Members): ToolResult {
  return { content: [{ type: 'text', text }], isError: false, facts }
}

function input(
  required: readonly Parameter<unknown>[],
  optional: readonly Parameter<unknown>[] = [],
): Schema {
  const properties = Object.fromEntries([...required, ...optional].map(({ name, schema }) => [name, schema]))
  const names = required.map(({ name }) => name)
  return { type: 'object', properties, ...(names.length > 0 && { required: names }) }
}

function runParameters({ templates, defaultFlavor, maxTimeoutMs }: SandboxSettings) {
  const names = templates.map(({ name }) => name)
  const flavors = 'Resource configuration for the sandbox'
  return {
    template: enumOf('template', 'Sandbox template', names, names[0]),
    session: string('session_id', 'Optional session ID for session reuse'),
    flavor: enumOf('flavor', flavors, flavorNames, defaultFlavor),
    timeout: int('timeout', 'Optional execution timeout in seconds', [1, maxTimeoutMs / 1000]),
  }
}

function sessionHint({ network, templates, volumes }: SandboxSettings): string {
  const names = templates.map(({ name, language }) => (name === language ? name : `${name} (${language})`))
  const installed = `There are ${names.join(' and ')} with their standard libraries, and the usual programs of a shell.`
  const paths = volumes.map(({ guestPath, isReadOnly }) => `${guestPath}${isReadOnly ? ' (read only)' : ''}`)
  const folders = paths.length === 0 ? '' : ` Folders of the host: ${paths.join(', ')}.`
  return `A session keeps variables, files and processes: give the session_id of an earlier result, or a name of your own to begin one. ${reachOf(network)} ${installed}${folders}`
}

function reachOf(network: SandboxSettings['network']): string {
  switch (network.kind) {
    case 'none':
      return 'Programs reach no network.'
    case 'host':
      return 'Programs reach the network of the host.'
    case 'allow':
      return `Programs reach these hosts alone, over https://: ${shownHosts(network.hosts)}.`
  }
}

const IMAGE_BYTES_MAX = 128 * 1024

const SHOWN_TYPES = new Set(['image/png', 'image/jpeg', 'image/svg+xml'])

async function runToolResult(ran: Ran, call: ToolCall, own: Members): Promise<ToolResult> {
  const { session, isCreated, ms, stdout, stderr, isCut, isRestarted, artifacts } = ran
  const { id } = session.facts
  const output = [stdout, stderr].filter((each) => each !== '').join(stdout.endsWith('\n') ? '' : '\n')
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
    { type: 'text', text: output },
    ...(call.settings.files ? await blocksOf(artifacts, session, call) : []),
    // Many models see only the content.
    { type: 'text', text: `[session_id: ${id}]` },
  ]
  return { content, isError: ran.exitCode !== 0, facts, shown: { stdout, stderr } }
}

async function blocksOf(
  artifacts: readonly Artifact[],
  session: SandboxSession,
  { abort }: ToolCall,
): Promise<Members[]> {
  const links = artifacts.map(({ path, bytes: size }) => {
    const [uri, name] = [resourceUri(session.facts.id, path), path.slice(path.lastIndexOf('/') + 1)]
    return { type: 'resource_link', uri, name, mimeType: mimeTypeOf(path), size }
  })
  const images = artifacts.filter(
    ({ path, bytes }) => bytes <= IMAGE_BYTES_MAX && SHOWN_TYPES.has(mimeTypeOf(path)),
  )
  if (images.length === 0) return links
  const shown = await session.useMachine(abort, (where) =>
    Promise.all(images.map(({ path }) => imageOf(where, path))),
  )
  return [...links, ...shown.flat()]
}

async function imageOf(where: MachineUse, path: string): Promise<Members[]> {
  const read = await runToEnd(where, ['cat', '--', path], IMAGE_BYTES_MAX)
  if (read.failure !== undefined || read.isCut) return []
  return [{ type: 'image', data: read.bytes.toString('base64'), mimeType: mimeTypeOf(path) }]
}

export const resourceTemplate = 'sandbox://{session_id}/{+path}'

/** The path is undefined if the URI has another form. */
function readResourceUri(uri: string): { readonly sessionId: string; readonly path: string | undefined } {
  const [, sessionId = '', path] = /^sandbox:\/\/([A-Za-z0-9._-]{1,128})\/(.+)$/.exec(uri) ?? []
  try {
    return { sessionId, path: path && decodeURIComponent(path) }
  } catch {
    return { sessionId, path: undefined }
  }
}

/** Resolves with undefined if the session does not exist, or the URI has another form. @throws SandboxError */
export async function readResource(uri: string, call: ToolCall): Promise<Members | undefined> {
  const { sessionId, path } = readResourceUri(uri)
  const session = call.sessions.find(sessionId, call.owner)
  if (path === undefined || session === undefined) return undefined
  const { bytes, size, encoding } = await inLargeTurn(call, fileBytesMax, () =>
    session.useMachine(call.abort, (where) => readFile(where, path, 0, fileBytesMax + 1)),
  )
  if (size > fileBytesMax)
    throw fileFailed(`${path}: it has ${size} bytes, and a resource at most ${fileBytesMax}`, { path, size })
  const content = { [encoding === 'utf8' ? 'text' : 'blob']: bytes.toString(encoding) }
  return { contents: [{ uri, mimeType: mimeTypeOf(path), ...content }] }
}
