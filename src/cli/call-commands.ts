// `tools` and `call`: list the tools of servers and call them, for a person or a script.
//
// Answers go to stdout unchanged, or with `--json` as the server's JSON. Everything else goes to stderr.

import type { Buffer } from 'node:buffer'
import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'
import { setTimeout } from 'node:timers/promises'
import type { ServerEvent } from '../index.js'
import { escapeText } from '../text/escape.js'
import { createProxy } from '../proxy/proxy.js'
import { hasPrefixOf, viewKey } from '../proxy/routing/views.js'
import { matcherOf } from '../text/name-patterns.js'
import { nearest } from '../text/nearest.js'
import { type Given, command } from './command-line.js'
import { json, timeout, viewConflict, viewOptions } from './common-options.js'
import { counted } from '../text/counted.js'
import { loadView } from './load.js'
import { Failure, aligned, note, pass, say, tableStyle } from './console.js'
import { disabledWords, lateWords, withChildren } from './server-trials.js'
import { quote } from '../jsonrpc/text.js'
import { type Keep, toolResult } from '../ask/content.js'
import type { JsonValue } from '../ask/json-value.js'
import { AnswerError, LocalClient } from '../ask/local-client.js'
import type { UpstreamStatus } from '../upstream/contracts/upstream.js'
import { personAtTerminal } from '../ask/terminal.js'

const options = { ...viewOptions, timeout, json }

type AskTask = Given<typeof options>

/** @returns the exit code */
type Ask = (client: LocalClient, question: AskTask) => Promise<number>

const common = { group: 'LOOK', options, conflicts: [viewConflict] } as const

export const askCommands = {
  tools: command({
    ...common,
    name: 'tools',
    takes: '[PATTERN]',
    about: 'names and descriptions of tools, as clients see them',
    details: `Lists the tools of every server of a schema. A pattern fits any part of a name; with "*", which
stands for any characters, it fits the whole name. --json prints the tools as servers list them.
"(only as a task)" marks a tool that mcps-proxy call cannot call.`,
    examples: ['mcps-proxy tools', "mcps-proxy tools 'github__*' --json"],
    wordsMax: 1,
    run: (task) => runAsk(task, showTools, true),
  }),
  call: command({
    ...common,
    name: 'call',
    takes: 'TOOL [KEY=VALUE... | JSON]',
    about: 'calls a tool and prints its result',
    details: `Arguments are KEY=VALUE, or one JSON object. A value is text where the tool takes a string, and
JSON elsewhere. Text is printed as text, images as the files that they were written to, structured
content as JSON where there is no text; --json prints the result as the server wrote it. What a
server asks meanwhile is asked on the terminal. The exit code is 1 when the call fails or its
result has isError.`,
    examples: [
      'mcps-proxy call memory__search_nodes query=Berlin',
      `mcps-proxy call files__read_file '{"path":"/tmp/a.txt"}'`,
    ],
    first: 'the name of a tool',
    wordsMax: Infinity,
    run: (task) => runAsk(task, callTool, false),
  }),
}

/** A person waits for a server as long as the server may start, and for a list as long as most installs take. */
const WAIT_MS = 600_000
const LIST_WAIT_MS = 30_000

/** How long `call` waits for a tool that is not listed. */
const LATE_TOOLS_MS = 1000

/** @returns the exit code: 1 for a failed call, also by `isError`, and for a pattern that fits nothing */
async function runAsk(task: AskTask, ask: Ask, needsAll: boolean): Promise<number> {
  const { profile } = task
  const [name = ''] = task.words
  const { config, schema } = await loadView(task, task.timeout)
  // Only the server whose prefix a name has can have the tool, so no other server has to start.
  const named = schema.servers.filter((server) => server.prefix && hasPrefixOf(server, name))
  const servers = named.length === 0 || profile !== undefined ? schema.servers : named
  return withChildren(config, [schema.name], async ({ runtime, logger, interrupted }) => {
    const on = { server: sayLate }
    const own = { schema: schema.name, keep: true, ownStart: 'with-client' } as const
    const onDemand = servers.map((server) => ({ ...server, lazy: true }))
    const schemas = new Map([[schema.name, { ...schema, servers: onDemand }]])
    const awaited = { ...config, startupGraceMs: needsAll ? LIST_WAIT_MS : WAIT_MS, schemas }
    const proxy = await createProxy(awaited, { ...own, log: logger.sink, on, runtime })
    try {
      const view = profile && viewKey('profile', profile)
      const client = new LocalClient(proxy, personAtTerminal(), view, showProgress)
      const asked = client.open().then(() => ask(client, task))
      const cut = interrupted.then((exitCode) => ({ exitCode }))
      const first = await Promise.race([asked.catch(() => undefined), cut])
      if (typeof first === 'object') return first.exitCode
      const exitCode = await asked.catch((error: unknown) => refused(error, (text) => logger.clean(text)))
      const disabled = needsAll || named.length > 0 ? disabledWords(servers) : undefined
      if (disabled !== undefined) await note(disabled)
      const seen = proxy.status().filter(({ name }) => servers.some((server) => server.name === name))
      return needsAll && (await nameFailed(seen)) ? 1 : exitCode
    } finally {
      await proxy.close(0)
    }
  })
}

async function refused(error: unknown, clean: (text: string) => string): Promise<number> {
  if (error instanceof AnswerError) await note(clean(error.message))
  else if (error instanceof Failure) await note(error.message)
  else throw error
  return error instanceof Failure ? error.exitCode : 1
}

/** Tells a person who waits for a list or a call which server is late. */
function sayLate(event: ServerEvent): void {
  if (event.state === 'late') void note(lateWords(event.server, event))
}

/** Without this note, the list looks complete. @returns whether no server has been reached */
async function nameFailed(servers: readonly UpstreamStatus[]): Promise<boolean> {
  const failed = servers.filter((server) => server.tools === 0 && isMissing(server))
  if (failed.length === 0) return false
  const names = failed.map(({ name }) => name).join(', ')
  await note(`no tools of ${names}; mcps-proxy doctor says why`)
  return failed.length === servers.length
}

/** A disconnected server may have kept lists, and a starting one with a revision may have no tools. */
function isMissing({ state, revision }: UpstreamStatus): boolean {
  return state === 'starting' ? revision === undefined : state === 'error' || state === 'login-required'
}

async function showTools(client: LocalClient, { words, json, profile }: AskTask): Promise<number> {
  const [pattern = ''] = words
  // `*` stands for any characters. A pattern without `*` fits any part of the name.
  const matches = matcherOf([pattern.includes('*') ? pattern : `*${pattern}*`])
  const all = await client.listTools()
  const tools = all.filter((tool) => matches(nameOf(tool)))
  await say('stdout', json ? `[${tools.map(({ raw }) => raw).join(',\n')}]\n` : await linesOf(tools))
  // A profile may hide the tools of the servers.
  const where = profile === undefined ? 'no server lists a' : `the profile "${profile}" shows no`
  if (all.length === 0) await note(`${where} tool`)
  if (pattern === '' || tools.length > 0) return 0
  throw new Failure(`no tool fits "${pattern}"; there are ${counted(all.length, 'tool')}`)
}

function nameOf(tool: JsonValue): string {
  return tool.string('name') ?? ''
}

function aboutOf(tool: JsonValue): string {
  // `call` sends no `task` (MCP 2025-11-25, Tasks: tool-level negotiation).
  const needsTask = tool.member('execution')?.string('taskSupport') === 'required'
  const [about = ''] = (tool.string('description') ?? tool.string('title') ?? '').trim().split('\n')
  return `${needsTask ? '(only as a task) ' : ''}${about}`
}

async function linesOf(tools: readonly JsonValue[]): Promise<string> {
  const { paint, columns } = await tableStyle()
  const rows = tools.map((tool) => [nameOf(tool), aboutOf(tool)] as const)
  return aligned(rows, paint, columns)
    .map((line) => `${line}\n`)
    .join('')
}

async function callTool(client: LocalClient, question: AskTask): Promise<number> {
  const [name = '', ...words] = question.words
  const isNamed = (each: JsonValue): boolean => nameOf(each) === name
  let tools = await client.listTools()
  if (!tools.some(isNamed)) {
    await Promise.race([client.toolsChanged(), setTimeout(LATE_TOOLS_MS)])
    tools = await client.listTools()
  }
  const tool = tools.find(isNamed)
  const properties = tool?.member('inputSchema')?.member('properties')
  const args = argumentsOf(words, (key) => properties?.member(key)?.string('type'))
  const params = `{"name":${JSON.stringify(name)},"arguments":${args},"_meta":{"progressToken":1}}`
  // An unlisted tool is called too: the answer says whether its server lacks a login, or the lock hides the tool.
  const result = await client
    .request('tools/call', params)
    .catch((error: unknown) => {
      if (tool === undefined && error instanceof AnswerError && error.isMissing) return undefined
      throw error
    })
    .finally(() => process.stderr.isTTY && process.stderr.write(CLEAR))
  if (result === undefined) {
    const [near] = nearest(name, tools.map(nameOf))
    const where = question.profile === undefined ? '' : ` --profile ${question.profile}`
    const hint = near === undefined ? `mcps-proxy tools${where} names them all` : `did you mean ${near}?`
    throw new Failure(`no tool is called "${name}"; ${hint}`)
  }
  await (question.json ? say('stdout', `${result.raw}\n`) : pass(toolResult(result, newKeep())))
  return result.member('isError')?.text === 'true' ? 1 : 0
}

const CLEAR = '\r\u001b[2K'

function showProgress(params: JsonValue): void {
  if (!process.stderr.isTTY) return
  const total = params.member('total')?.text
  const of = total === undefined ? '' : ` of ${total}`
  const words = `${params.member('progress')?.text ?? ''}${of} ${params.string('message') ?? ''}`
  process.stderr.write(CLEAR + escapeText(words).slice(0, (process.stderr.columns || 80) - 1))
}

/** Writes images and other bytes into files of a new folder, which the first file creates. */
function newKeep(): Keep {
  let folder: string | undefined
  let count = 0
  return (bytes: Buffer, mimeType: string): string => {
    folder ??= mkdtempSync(join(tmpdir(), 'mcps-proxy-'))
    const [, ending = 'bin'] = /\/([a-z0-9]+)/.exec(mimeType) ?? []
    const path = join(folder, `${++count}.${ending}`)
    writeFileSync(path, bytes, { mode: 0o600 })
    return path
  }
}

function mistake(message: string): Failure {
  return new Failure(message, 2)
}

/**
 * Returns the arguments as raw JSON, so that numbers stay as they were typed.
 *
 * `typeOf` returns the JSON type of a key in the tool's schema, if there is one. A value for a string is
 * text, and any other value is JSON. Without a type, a value is JSON if it reads as JSON other than a string.
 *
 * @throws Failure
 */
export function argumentsOf(words: readonly string[], typeOf: (key: string) => string | undefined): string {
  const [first = '', ...others] = words
  if (first.trimStart().startsWith('{')) {
    if (others.length > 0) throw mistake('no other argument may follow the JSON object')
    if (!isJson(first))
      throw mistake(
        `the arguments are not JSON: ${first}; write {"key":"value"} in single quotes, or key=value`,
      )
    return first
  }
  const members = words.map((word) => memberOf(word, typeOf))
  return `{${members.join(',')}}`
}

function memberOf(word: string, typeOf: (key: string) => string | undefined): string {
  const at = word.indexOf('=')
  if (at < 1) throw mistake(`"${word}" is no argument; write key=value, or one JSON object`)
  const [key, value] = [word.slice(0, at), word.slice(at + 1)]
  return `${quote(key)}:${valueOf(key, value, typeOf(key))}`
}

function valueOf(key: string, value: string, type: string | undefined): string {
  if (type === 'string') return quote(value)
  if (isJson(value) && (type !== undefined || !value.startsWith('"'))) return value
  if (type === undefined) return quote(value)
  throw mistake(`"${key}" takes JSON of the type ${type}, not "${value}"`)
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}
