// `mcps-proxy replay`: transcripts in, a verdict out.

import process from 'node:process'
import { say } from '../cli/say.js'
import { type RealRuntime, realRuntime } from '../real-runtime.js'
import { isReserved } from '../transports/http-client/session.js'
import type { Runtime } from '../runtime/runtime.js'
import { TranscriptError } from './line.js'
import { Replayer, type Result } from './replayer.js'
import { type Tally, skipReport, summary, transcriptReport } from './report.js'
import { type Transcript, readTranscripts } from './transcript.js'

/** What the command line asks for. */
export interface ReplayRequest {
  readonly files: readonly string[]
  /** The server's command; empty lets each transcript say. */
  readonly command: readonly string[]
  /** The server's address; undefined starts one. */
  readonly url: string | undefined
  /** What is started speaks HTTP. */
  readonly http: boolean
  /** Of every request over HTTP. */
  readonly headers: Readonly<Record<string, string>>
  /** Show every frame. */
  readonly verbose: boolean
  /** How long one frame may take to come. */
  readonly timeoutMs: number
}

/** What a replay is done with, apart from what was asked. */
export interface Surroundings {
  /** How this program is started again. */
  readonly self: readonly string[]
  readonly runtime: Runtime
  readonly cwd: string
  /** Where the report goes. */
  print(text: string): Promise<void>
  complain(text: string): Promise<void>
  /** Where it is; undefined shows nothing. */
  readonly progress: ((text: string) => void) | undefined
}

const failed = 1
const usageMistake = 2

/**
 * Replays transcripts and reports on stdout.
 *
 * @returns 0 when everything came as expected, 1 when not, 2 for what cannot be replayed
 */
export async function replayCommand(request: ReplayRequest): Promise<number> {
  const runtime = realRuntime()
  try {
    return await replay(request, realSurroundings(runtime))
  } finally {
    await runtime.close()
  }
}

export async function replay(request: ReplayRequest, around: Surroundings): Promise<number> {
  const read = await Promise.all(request.files.map(readOrExplain))
  const problems = read.flatMap((each) => (typeof each === 'string' ? [each] : []))
  const stray = Object.keys(request.headers).find(isReserved)
  if (stray !== undefined) problems.push(`--header ${stray}: a replay writes this field itself`)
  if (problems.length > 0) {
    await around.complain(`${problems.join('\n')}\n`)
    return usageMistake
  }
  const tally = await replayAll(
    read.flatMap((each) => (typeof each === 'string' ? [] : each)),
    request,
    around,
  )
  await around.print(summary(tally))
  return tally.failed > 0 ? failed : 0
}

async function readOrExplain(file: string): Promise<Transcript[] | string> {
  try {
    return await readTranscripts(file)
  } catch (error) {
    if (error instanceof TranscriptError) return error.message
    throw error
  }
}

async function replayAll(
  transcripts: readonly Transcript[],
  request: ReplayRequest,
  around: Surroundings,
): Promise<Tally> {
  let tally: Tally = { passed: 0, failed: 0, skipped: 0, frames: 0, times: 0, early: 0 }
  const { self, cwd, runtime } = around
  const replayer = new Replayer({ ...request, launch: { self, cwd, env: runtime.env }, runtime })
  try {
    for (const [at, transcript] of transcripts.entries()) {
      around.progress?.(`${at + 1}/${transcripts.length} ${transcript.name}`)
      const result = await replayer.replay(transcript)
      around.progress?.('')
      tally = counted(tally, result)
      const report = reportOf(transcript, result, request.verbose)
      if (report !== '') await around.print(report)
    }
  } finally {
    await replayer.close()
  }
  return tally
}

function reportOf(transcript: Transcript, result: Result, verbose: boolean): string {
  if (result.kind === 'skipped') return skipReport(transcript, result.why)
  return transcriptReport(transcript, result, verbose)
}

function counted(tally: Tally, result: Result): Tally {
  if (result.kind === 'skipped') return { ...tally, skipped: tally.skipped + 1 }
  const { passed, events, times, early } = result
  return {
    passed: tally.passed + (passed ? 1 : 0),
    failed: tally.failed + (passed ? 0 : 1),
    skipped: tally.skipped,
    frames: tally.frames + events.filter(({ kind }) => kind === 'equal' || kind === 'different').length,
    times: tally.times + times,
    early: tally.early + early,
  }
}

function realSurroundings(runtime: RealRuntime): Surroundings {
  const [, program = ''] = process.argv
  const clear = '\r\u001b[K'
  return {
    self: [process.execPath, program],
    runtime,
    cwd: process.cwd(),
    print: (text) => say('stdout', text),
    complain: (text) => say('stderr', `mcps-proxy: ${text}`),
    progress: process.stderr.isTTY ? (text) => void process.stderr.write(`${clear}${text}`) : undefined,
  }
}
