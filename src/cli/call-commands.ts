// `tools`, `call`, `read` and `prompt`: what servers have, and what they answer, for a person or a script.
//
// Answers go to stdout as the server wrote them, or with `--json` as its JSON; everything else goes to stderr.

import type { Buffer } from 'node:buffer'
import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'
import type { ServerEvent } from '../index.js'
import { escapeText } from '../text/escape.js'
import { createProxy } from '../proxy/proxy.js'
import { hasPrefixOf, viewKey } from '../proxy/routing/views.js'
import { matcherOf } from '../text/name-patterns.js'
import { nearest } from '../text/nearest.js'
import { type Command, type Given, UsageError, command } from './command-line.js'
import { json, timeout, viewConflict, viewOptions } from './common-options.js'
import { counted } from '../text/counted.js'
import { loadView } from './load.js'
import { Failure, note, pass, say, tableStyle } from './console.js'
import { lateWords, withChildren } from './server-trials.js'
import { ArgumentMistake, argumentsOf } from './arguments.js'
import { type Keep, promptText, resourceText, toolResult } from '../ask/content.js'
import type { JsonValue } from '../ask/json-value.js'
import { AnswerError, LocalClient } from '../ask/local-client.js'
import type { ServerConfig } from '../upstream/contracts/server-config.js'
import type { UpstreamStatus } from '../upstream/contracts/upstream.js'
import { personAtTerminal } from '../ask/terminal.js'

const options = { ...viewOptions, timeout, json }

type AskTask = Given<typeof options>

/** @returns the exit code */
type Ask = (client: LocalClient, question: AskTask) => Promise<number>

function askCommand({
  ask,
  ...more
}: Pick<Command, 'name' | 'takes' | 'about' | 'details' | 'examples'> & {
  readonly ask: Ask
}): Command<AskTask> {
  return command({
    ...more,
    group: 'LOOK',
    options,
    conflicts: [viewConflict],
    wordsMax: more.name === 'call' || more.name === 'prompt' ? Infinity : 1,
    check: ({ words }) => {
      if (more.name === 'call' && words.length === 0)
        throw new UsageError(
          'call needs the name of a tool',
          'for example: mcps-proxy call Time__get_current_time timezone=Europe/Berlin',
        )
    },
    run: (task) => runAsk(task, ask, more.name === 'tools'),
  })
}

export const askCommands = {
  tools: askCommand({
    name: 'tools',
    ask: showTools,
    takes: '[PATTERN]',
    about: 'names and descriptions of tools, as clients see them',
    details: `Lists the tools of every server of a schema. A pattern fits any part of a name; with "*", which
stands for any characters, it fits the whole name. --json prints the tools as servers list them.
"(only as a task)" marks a tool that mcps-proxy call cannot call.`,
    examples: ['mcps-proxy tools', "mcps-proxy tools 'github__*' --json"],
  }),
  call: askCommand({
    name: 'call',
    ask: callTool,
    takes: 'TOOL [KEY=VALUE... | JSON]',
    about: 'calls a tool and prints its result',
    details: `Arguments are KEY=VALUE, or one JSON object. A value is text where the tool takes a string, and
JSON elsewhere. Text is printed as text, images as the files that they were written to, structured
content as JSON where there is no text; --json prints the result as the server wrote it. What a
server asks meanwhile is asked on the terminal. The exit code is 1 when the call fails or its
result has isError.`,
    examples: [
      'mcps-proxy call Time__get_current_time timezone=Europe/Berlin',
      `mcps-proxy call files__read_file '{"path":"/tmp/a.txt"}'`,
    ],
  }),
  read: askCommand({
    name: 'read',
    ask: readResource,
    takes: '[URI]',
    about: 'reads a resource and prints it, or lists resources',
    details: `Prints text as text, and writes anything else to a file, which is named. Without a URI it lists
the resources and templates of every server; --json prints them as servers list them.`,
    examples: ['mcps-proxy read', 'mcps-proxy read file:///tmp/a.txt'],
  }),
  prompt: askCommand({
    name: 'prompt',
    ask: getPrompt,
    takes: '[NAME [KEY=VALUE...]]',
    about: 'gets a prompt and prints its messages, or lists prompts',
    details: `Every argument of a prompt is text. Without a name it lists the prompts of every server; --json
prints them as servers list them.`,
    examples: ['mcps-proxy prompt', 'mcps-proxy prompt github__review branch=main'],
  }),
}

interface Row {
  readonly name: string
  readonly about: string
}

/** An interrupt ends a command in the middle of its work (128 + SIGINT). */
const INTERRUPTED = 130

/** A person waits for a server as long as it may start. */
const WAIT_MS = 600_000

/** @returns the exit code: 1 for a call that failed, also by `isError`, and for a pattern that fits nothing */
async function runAsk(task: AskTask, ask: Ask, needsAll: boolean): Promise<number> {
  const { profile } = task
  const [name = ''] = task.words
  const { config, schema } = await loadView(task, task.timeout)
  // A name with the prefix of a server is one of that server: no other one has to start for it.
  const named = schema.servers.filter((server) => !needsAll && server.prefix && hasPrefixOf(server, name))
  const servers = named.length === 0 || profile !== undefined ? schema.servers : named
  return withChildren(config, [schema.name], async ({ runtime, logger, shutdown }) => {
    const on = { server: sayLate(servers) }
    const own = { schema: schema.name, keep: true, ownStart: 'with-client' } as const
    const onDemand = servers.map((server) => ({ ...server, lazy: true }))
    const schemas = new Map([[schema.name, { ...schema, servers: onDemand }]])
    const awaited = { ...config, startupGraceMs: WAIT_MS, schemas }
    const proxy = await createProxy(awaited, { ...own, log: logger.sink, on, runtime })
    const asked = async (): Promise<number> => {
      const view = profile && viewKey('profile', profile)
      const client = new LocalClient(proxy, personAtTerminal(), view, showProgress)
      const exitCode = await client
        .open()
        .then(() => ask(client, task))
        .catch((error: unknown) => refused(error, (text) => logger.clean(text)))
      const seen = proxy.status().filter(({ name }) => servers.some((server) => server.name === name))
      return needsAll && (await nameFailed(seen)) ? 1 : exitCode
    }
    try {
      return await Promise.race([
        asked(),
        shutdown.ended.then((exitCode) => shutdown.verdict(exitCode || INTERRUPTED)),
      ])
    } finally {
      await proxy.close(0)
    }
  })
}

async function refused(error: unknown, clean: (text: string) => string): Promise<number> {
  if (error instanceof AnswerError) await note(withCode(clean(error.message), error.code))
  else if (error instanceof Failure || error instanceof ArgumentMistake) await note(error.message)
  else throw error
  return error instanceof ArgumentMistake ? 2 : 1
}

/** A person who waits for a list or a call learns which server it waits for. */
function sayLate(servers: readonly ServerConfig[]): (event: ServerEvent) => void {
  return (event) => {
    const late = servers.find(({ name }) => name === event.server)
    if (event.state === 'late' && late !== undefined) void note(lateWords(event.server, late, event.ms))
  }
}

/** Without this the list looks whole. @returns whether no server has been reached */
async function nameFailed(servers: readonly UpstreamStatus[]): Promise<boolean> {
  const failed = servers.filter((server) => server.tools === 0 && isMissing(server))
  if (failed.length === 0) return false
  const names = failed.map(({ name }) => name).join(', ')
  await note(`no tools of ${names}; mcps-proxy doctor says why`)
  return failed.length === servers.length
}

/** A server whose lists are kept is disconnected, and one without tools may still be reading its other lists. */
function isMissing({ state, revision }: UpstreamStatus): boolean {
  return state === 'starting' ? revision === undefined : state === 'error' || state === 'login-required'
}

/** The SDK of many servers writes the code into the message. */
function withCode(message: string, code: number): string {
  return message.includes(String(code)) ? message : `${message} (code ${code})`
}

async function readResource(client: LocalClient, question: AskTask): Promise<number> {
  const [uri] = question.words
  if (uri === undefined) return show(client, question, 'resource').then(() => 0)
  const result = await client.request('resources/read', JSON.stringify({ uri }))
  return print(result, question, resourceText)
}

async function getPrompt(client: LocalClient, question: AskTask): Promise<number> {
  const [name, ...words] = question.words
  if (name === undefined) return show(client, question, 'prompt').then(() => 0)
  // Every argument of a prompt is a text (MCP, Prompts).
  const args = argumentsOf(words, () => 'string')
  const params = `{"name":${JSON.stringify(name)},"arguments":${args}}`
  return print(await client.request('prompts/get', params), question, promptText)
}

async function print(
  result: JsonValue,
  { json }: AskTask,
  inWords: (result: JsonValue, keep: Keep) => string,
): Promise<number> {
  await (json ? say('stdout', `${result.raw}\n`) : pass(inWords(result, newKeep())))
  return 0
}

async function showTools(client: LocalClient, question: AskTask): Promise<number> {
  const [pattern = ''] = question.words
  // `*` stands for any characters; a pattern without one fits where it stands in the name.
  const matches = matcherOf([pattern.includes('*') ? pattern : `*${pattern}*`])
  const fits = (tool: JsonValue): boolean => matches(nameOf(tool))
  const all = await show(client, question, 'tool', fits)
  if (pattern === '' || all.some(fits)) return 0
  throw new Failure(`no tool fits "${pattern}"; there are ${counted(all.length, 'tool')}`)
}

/** The requests for all items of a kind, and the members of their results. */
const lists = {
  tool: [['tools/list', 'tools']],
  prompt: [['prompts/list', 'prompts']],
  resource: [
    ['resources/list', 'resources'],
    ['resources/templates/list', 'resourceTemplates'],
  ],
} as const

/** Prints the items that fit, and gives all. */
async function show(
  client: LocalClient,
  { json, profile }: AskTask,
  kind: keyof typeof lists,
  fits: (item: JsonValue) => boolean = () => true,
): Promise<JsonValue[]> {
  const all: JsonValue[] = []
  for (const [method, member] of lists[kind]) all.push(...(await client.list(method, member)))
  const items = all.filter(fits)
  const text = json ? `[${items.map(({ raw }) => raw).join(',\n')}]\n` : await linesOf(items.map(rowOf))
  await say('stdout', text)
  // A profile may hide what the servers have.
  const where = profile === undefined ? 'no server lists a' : `the profile "${profile}" shows no`
  if (all.length === 0) await note(`${where} ${kind}`)
  return all
}

function nameOf(item: JsonValue): string {
  return item.string('name') ?? ''
}

function rowOf(item: JsonValue): Row {
  const address = item.string('uri') ?? item.string('uriTemplate')
  // `call` sends no `task` (MCP 2025-11-25, Tasks: tool-level negotiation).
  const needsTask = item.member('execution')?.string('taskSupport') === 'required'
  const [about = ''] = (item.string('description') ?? item.string('title') ?? '').trim().split('\n')
  const named = about === '' && address !== undefined ? nameOf(item) : about
  return { name: address ?? nameOf(item), about: `${needsTask ? '(only as a task) ' : ''}${named}` }
}

async function linesOf(rows: readonly Row[]): Promise<string> {
  const { paint, columns } = await tableStyle()
  const width = Math.max(0, ...rows.map(({ name }) => name.length))
  const room = Math.max(20, columns - width - 2)
  const lines = rows.map(({ name: raw, about }) => {
    const shown = about.length > room ? `${about.slice(0, room - 1)}…` : about
    const name = escapeText(raw)
    return `${paint('service', name)}${' '.repeat(Math.max(0, width - name.length))}  ${escapeText(shown)}`.trimEnd()
  })
  return lines.map((line) => `${line}\n`).join('')
}

async function callTool(client: LocalClient, question: AskTask): Promise<number> {
  const [name = '', ...words] = question.words
  const tools = await client.list('tools/list', 'tools')
  const tool = tools.find((each) => nameOf(each) === name)
  const properties = tool?.member('inputSchema')?.member('properties')
  const args = argumentsOf(words, (key) => properties?.member(key)?.string('type'))
  const params = `{"name":${JSON.stringify(name)},"arguments":${args},"_meta":{"progressToken":1}}`
  // A tool that is not listed is called too: the answer says whether its server lacks a login, or the lock hides it.
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
  await print(result, question, toolResult)
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

/** Puts images and other bytes into files of a new folder, which is made when the first one comes. */
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
