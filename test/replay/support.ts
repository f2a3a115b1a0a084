// Replays as the command does them, and servers over HTTP to replay against.

import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { once } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'
import { after } from 'node:test'
import { type Output, type ReplayRequest, replay } from '../../src/replay/command.js'
import { Replayer } from '../../src/replay/replayer.js'
import { realRuntime } from '../../src/real-runtime.js'
import { cli, patientCli, root } from '../integration/support/programs.js'
import { Spawned } from '../integration/support/spawned.js'
import { HANG_MS, until } from '../integration/support/waiting.js'
import { type Scope, scripted } from '../transports/support/scripted.js'

export { type Scope, cli, patientCli, root }
export const fixtures: string = join(root, 'spec-fixtures')
export const programs: string = join(root, 'test', 'programs')

/** For what a test writes; gone afterwards. */
export const folder: string = mkdtempSync(join(tmpdir(), 'mcps-replay-test-'))
after(() => rmSync(folder, { recursive: true, force: true, maxRetries: 10 }))

let files = 0

export function fileOf(...lines: readonly string[]): string {
  const file = join(folder, `${(files += 1)}.jsonl`)
  writeFileSync(file, `${lines.join('\n')}\n`)
  return file
}

/** `mcps-proxy replay`, in this process; `self` is how the proxy is started. */
export async function run(
  file: string | readonly string[],
  more: Partial<ReplayRequest> = {},
  self: readonly string[] = [process.execPath, patientCli],
) {
  let [out, err] = ['', '']
  // The home folder has no configuration.
  const runtime = { ...realRuntime(), env: { ...process.env, HOME: folder } }
  const output: Output = {
    print: async (text) => void (out += text),
    complain: async (text) => void (err += text),
    ask: undefined,
  }
  const request: ReplayRequest = {
    words: typeof file === 'string' ? [file] : file,
    rest: undefined,
    url: undefined,
    http: false,
    trust: true,
    header: {},
    verbose: false,
    portable: false,
    timeout: HANG_MS,
    ...more,
  }
  const code = await replay(request, new Replayer(request, { self, cwd: folder }, runtime), output)
  return { code, out, err }
}

/** A server of the test's own; gives its origin. */
export async function serving(
  scope: Scope,
  answer: (request: IncomingMessage, response: ServerResponse, body: string) => void,
): Promise<string> {
  const { url } = await scripted(scope, ({ body }, response, request) => answer(request, response, body), {
    raw: true,
    isAsked: true,
  })
  return url.origin
}

/** Starts a program, and waits until it prints something. It ends with the test, or as a person would end it. */
async function started(
  scope: Scope,
  args: readonly string[],
  pattern: RegExp,
  env: Readonly<Record<string, string>> = {},
) {
  const child = spawn(process.execPath, [...args], { env: { ...process.env, HOME: folder, ...env } })
  const closed = once(child, 'close')
  const stop = async (): Promise<number | null> => {
    child.kill()
    await closed
    return child.exitCode
  }
  scope.after(async () => void (await stop()))
  let said = ''
  const match = await new Promise<RegExpExecArray>((resolve, reject) => {
    const take = (chunk: Buffer): void => {
      said += chunk.toString()
      const found = pattern.exec(said)
      if (found !== null) resolve(found)
    }
    child.stdout.on('data', take)
    child.stderr.on('data', take)
    child.once('close', (code) => reject(new Error(`it ended with ${code}: ${said}`)))
  })
  return { match, stop }
}

/** The reference server over HTTP; gives its address. */
export async function reference(scope: Scope): Promise<string> {
  const { match } = await started(scope, [join(programs, 'reference.mjs'), '--http', '0'], /http:\S+/)
  return match[0]
}

/** `mcps-proxy --http` on a free port. */
export async function gateway(scope: Scope, ...args: readonly string[]) {
  const { match, stop } = await started(
    scope,
    [cli, '--http', '--port', '0', ...args],
    /POST to (http:[^/]*\/\/[^/]+)/,
  )
  const origin = match[1] ?? ''
  return { origin, port: Number(new URL(origin).port), stop }
}

/** Says lines to a program on stdin, and ends that when so many lines have come back; gives its exit code. */
export async function talk(
  args: readonly string[],
  lines: readonly string[],
  answers: number,
): Promise<number | string> {
  const program = new Spawned(process.execPath, args, { env: { ...process.env, HOME: folder } })
  program.write(`${lines.join('\n')}\n`)
  await until(() => program.client.heard.length >= answers)
  program.end()
  return program.exited
}
