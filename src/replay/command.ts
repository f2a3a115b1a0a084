// `mcps-proxy replay`: transcripts in, a verdict out.

import process from 'node:process'
import { say } from '../cli/say.js'
import { type RealRuntime, realRuntime } from '../runtime.js'
import type { Runtime } from '../upstream/host.js'
import { type LaunchOptions, prepareLaunch } from './launch.js'
import { TranscriptError } from './line.js'
import { type Tally, summary, transcriptReport } from './report.js'
import { type Outcome, replayTranscript } from './run.js'
import { ServerProcess } from './server-process.js'
import { type Transcript, readTranscripts } from './transcript.js'

/** What the command line asks for. */
export interface ReplayRequest {
  readonly files: readonly string[]
  /** The server's command; empty lets each transcript say. */
  readonly command: readonly string[]
  readonly url: string | undefined
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
  if (request.url !== undefined) {
    await around.complain('replay --url is not in this version; name a command after --\n')
    return usageMistake
  }
  const read = await Promise.all(request.files.map(readOrExplain))
  const problems = read.flatMap((each) => (typeof each === 'string' ? [each] : []))
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
  let tally: Tally = { passed: 0, failed: 0, frames: 0, times: 0, early: 0 }
  for (const [at, transcript] of transcripts.entries()) {
    around.progress?.(`${at + 1}/${transcripts.length} ${transcript.name}`)
    const outcome = await replayOne(transcript, request, around)
    around.progress?.('')
    tally = counted(tally, outcome)
    const report = transcriptReport(transcript, outcome, request.verbose)
    if (report !== '') await around.print(report)
  }
  return tally
}

async function replayOne(
  transcript: Transcript,
  { command, timeoutMs }: ReplayRequest,
  { self, runtime, cwd }: Surroundings,
): Promise<Outcome> {
  const options: LaunchOptions = { command, self, env: runtime.env, cwd }
  const launch = await prepareLaunch(transcript, options)
  const server = new ServerProcess(launch.spec, runtime)
  const release = killWithUs(server)
  try {
    return await replayTranscript(transcript, server, { runtime, timeoutMs })
  } finally {
    await server.stop()
    release()
    await launch.dispose()
  }
}

function counted(tally: Tally, { passed, events, times, early }: Outcome): Tally {
  return {
    passed: tally.passed + (passed ? 1 : 0),
    failed: tally.failed + (passed ? 0 : 1),
    frames: tally.frames + events.filter(({ kind }) => kind === 'equal' || kind === 'different').length,
    times: tally.times + times,
    early: tally.early + early,
  }
}

/** The server has a process group of its own, which no Ctrl-C reaches. */
function killWithUs(server: ServerProcess): () => void {
  const kill = (): void => server.kill()
  process.once('exit', kill)
  process.once('SIGINT', interrupted)
  process.once('SIGTERM', interrupted)
  return () => {
    process.off('exit', kill)
    process.off('SIGINT', interrupted)
    process.off('SIGTERM', interrupted)
  }
}

function interrupted(): never {
  process.exit(130)
}

function realSurroundings(runtime: RealRuntime): Surroundings {
  const [, program = ''] = process.argv
  const clear = '\r\u001b[K'
  return {
    self: [process.execPath, program],
    runtime,
    cwd: process.cwd(),
    print: (text) => say({ exitCode: 0, stream: 'stdout', text }),
    complain: (text) => say({ exitCode: usageMistake, stream: 'stderr', text: `mcps-proxy: ${text}` }),
    progress: process.stderr.isTTY ? (text) => void process.stderr.write(`${clear}${text}`) : undefined,
  }
}
