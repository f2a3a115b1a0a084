// The command `mcps-proxy replay` replays transcripts, and reports failures.

import { existsSync, readdirSync } from 'node:fs'
import { constants } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'
import { askLine, isAtTerminal } from '../ask/terminal.js'
import { Children } from '../cli/shutdown.js'
import { type Given, UsageError, command, flag, valued } from '../cli/command-line.js'
import { header, timeout, verbose } from '../cli/common-options.js'
import { say } from '../cli/console.js'
import { programFolder } from '../folder.js'
import { realRuntime } from '../real-runtime.js'
import { isReserved } from '../transports/http-client/http-session.js'
import { startsOf } from './launch.js'
import { Replayer } from './replayer.js'
import { type Result, hasFailed, report, summary } from './report.js'
import { type Transcript, readTranscripts, TranscriptError } from './transcript.js'

export interface Output {
  print(text: string): Promise<void>
  complain(text: string): Promise<void>
  /** Asks the person at the terminal; undefined without a terminal. */
  readonly ask: ((question: string) => Promise<string>) | undefined
}

const example = 'for example: mcps-proxy replay FILE.jsonl -- COMMAND'

const options = {
  timeout,
  verbose,
  portable: flag('Replay the transcripts of the package: every correct server passes'),
  trust: flag('Start what the transcripts name without a question'),
  url: valued('URL', 'The address of the server that is tested'),
  header,
  http: flag('Start the proxy with HTTP'),
}

/** The words are files. The words after `--` are the command of the server; the default is the transcript's. */
export type ReplayRequest = Given<typeof options>

export const replayCommand = command({
  name: 'replay',
  takes: '[FILE...] [-- COMMAND]',
  about: 'transcripts against the proxy, a COMMAND, or --url URL',
  group: 'TEST',
  details: `Replays transcripts against a server and compares its answers, frame by frame: against
the proxy itself, started for it (replay --http starts it with --http); against COMMAND;
or against the MCP server at URL, over Streamable HTTP or the older HTTP+SSE. --portable replays
the transcripts of the package, which every correct MCP server passes.`,
  examples: [
    'mcps-proxy replay session.jsonl',
    'mcps-proxy replay session.jsonl -- node server.js',
    'mcps-proxy replay --portable -- node server.js',
    "mcps-proxy replay session.jsonl --url http://127.0.0.1:3095/mcp --header 'X-Key: …'",
  ],
  options,
  conflicts: [['http', 'url']],
  wordsMax: Infinity,
  takesRest: true,
  check: ({ words, rest = [], portable, url }) => {
    if (words.length === 0 && !portable) throw new UsageError('replay needs a file, or --portable', example)
    if (rest.length > 0 && url !== undefined)
      throw new UsageError('replay takes a command or --url, not both', example)
    if (url !== undefined && !(/^https?:\/\//i.test(url) && URL.canParse(url)))
      throw new UsageError('--url is no http:// or https:// address', 'it must be like https://host/mcp')
  },
  run: runReplay,
})

const failed = 1
const usageMistake = 2

/** @returns 0 if all transcripts pass, 1 if one fails, 2 if one cannot be replayed */
async function runReplay(request: ReplayRequest): Promise<number> {
  const own = realRuntime()
  // Each server has its own process group, so the terminal sends it no signal for Ctrl-C.
  const children = new Children()
  process.on('exit', () => children.kill())
  for (const signal of ['SIGINT', 'SIGTERM'] as const)
    process.on(signal, () => process.exit(128 + constants.signals[signal]))
  try {
    const [, program = ''] = process.argv
    const self = { self: [process.execPath, program], cwd: process.cwd() }
    const replayer = new Replayer(request, self, children.watch(own))
    return await replay(request, replayer, terminal)
  } finally {
    await own.close()
  }
}

export async function replay(request: ReplayRequest, replayer: Replayer, output: Output): Promise<number> {
  const problems: string[] = []
  const transcripts: Transcript[] = []
  for (const file of [...(request.portable ? portableFiles() : []), ...request.words]) {
    try {
      transcripts.push(...(await readTranscripts(file)))
    } catch (error) {
      if (!(error instanceof TranscriptError)) throw error
      problems.push(error.message)
    }
  }
  const stray = Object.keys(request.header).find(isReserved)
  if (stray !== undefined) problems.push(`--header ${stray}: a replay writes this field itself`)
  if (problems.length > 0) {
    await output.complain(`${problems.join('\n')}\n`)
    return usageMistake
  }
  const named = transcripts.filter(({ file }) => request.words.includes(file))
  if (!request.trust && !(await isAllowed(startsOf(named, request), output))) return usageMistake
  const results = await replayAll(transcripts, request.verbose, replayer, output)
  await output.print(summary(results))
  return results.some(hasFailed) ? failed : 0
}

async function isAllowed(starts: readonly string[], output: Output): Promise<boolean> {
  if (starts.length === 0) return true
  const list = starts.map((line) => `  ${line}\n`).join('')
  if (output.ask === undefined) {
    const remedy = '--trust starts them, and -- COMMAND or --url names another server'
    await output.complain(
      `nothing was started, because these transcripts name what is started; ${remedy}:\n${list}`,
    )
    return false
  }
  await output.complain(`these transcripts name what is started:\n${list}`)
  return /^y(?:es)?$/i.test(await output.ask('Start it? [y/N] '))
}

/** The fixtures are beside the folder of the program; in the tests of a checkout, one level higher. */
function portableFiles(): string[] {
  const folders = ['..', '../..'].map((up) => join(programFolder, up, 'spec-fixtures/portable'))
  const folder = folders.find((each) => existsSync(each)) ?? folders[0] ?? ''
  return readdirSync(folder)
    .toSorted()
    .map((name) => join(folder, name))
}

async function replayAll(
  transcripts: readonly Transcript[],
  isVerbose: boolean,
  replayer: Replayer,
  output: Output,
): Promise<readonly Result[]> {
  const results: Result[] = []
  try {
    for (const transcript of transcripts) {
      const result = await replayer.replay(transcript)
      results.push(result)
      const text = report(transcript, result, isVerbose)
      if (text !== '') await output.print(text)
    }
  } finally {
    await replayer.close()
  }
  return results
}

const terminal: Output = {
  print: (text) => say('stdout', text),
  complain: (text) => say('stderr', `mcps-proxy: ${text}`),
  ask: isAtTerminal() ? askLine : undefined,
}
