// Replays as the command does them, and servers over HTTP to replay against.

import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { once } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'
import { createInterface } from 'node:readline'
import { PassThrough } from 'node:stream'
import { after } from 'node:test'
import { type Output, type ReplayRequest, replay } from '../../src/replay/command.js'
import { Replayer } from '../../src/replay/replayer.js'
import { loadConfig } from '../../src/config/config.js'
import { createProxy, limits } from '../../src/index.js'
import { realRuntime } from '../../src/real-runtime.js'
import type { Child, ChildExit, Runtime, SpawnSpec } from '../../src/runtime/runtime.js'
import { NdjsonConnection } from '../../src/transports/stdio/ndjson.js'
import { cli, patientCli, root } from '../integration/support/programs.js'
import { Spawned, spawnGateway } from '../integration/support/spawned.js'
import { HANG_MS, until } from '../integration/support/waiting.js'
import { type Scope, scripted } from '../transports/support/scripted.js'

export { type Scope, cli, root }
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
  real: Runtime = realRuntime(),
) {
  let [out, err] = ['', '']
  // The home folder has no configuration.
  const runtime = { ...real, env: { ...process.env, HOME: folder } }
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

/** The same with a proxy in this process, which starts faster than the command. */
export async function runInProcess(file: string) {
  const real = realRuntime()
  const ours = 'a proxy in this process'
  const spawn = (spec: SpawnSpec): Child => (spec.command === ours ? proxyOf(spec) : real.spawn(spec))
  return run(file, {}, [ours], { ...real, spawn })
}

/** The result of `initialize` waits for every server. */
export const patient = { limits: { ...limits, initializeGraceMs: HANG_MS } }

/** A proxy on stdio with the file behind `--config`, as if it were a process. */
function proxyOf({ args, env }: SpawnSpec): Child {
  const [stdin, stdout, stderr] = [new PassThrough(), new PassThrough(), new PassThrough()]
  const path = args[args.indexOf('--config') + 1]
  const serve = async (): Promise<ChildExit> => {
    const runtime = { ...realRuntime(), env }
    const config = loadConfig({ ...(args.includes('--config') && { path }), env })
    const own = { ownStart: 'with-client', person: 'here', eager: true } as const
    const proxy = await createProxy(config, { ...patient, ...own, runtime })
    await (
      await proxy.attach(new NdjsonConnection(stdin, stdout))
    ).ended
    await proxy.close()
    stdout.end()
    stderr.end()
    return { code: 0, signal: undefined, spawnError: undefined }
  }
  return { pid: process.pid, stdin, stdout, stderr, exited: serve(), signal: () => stdin.end() !== undefined }
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

/** The reference server over HTTP; gives its address. */
export async function reference(scope: Scope): Promise<string> {
  const child = spawn(process.execPath, [join(programs, 'reference.mjs'), '--http', '0'])
  scope.after(() => void child.kill())
  const [address]: unknown[] = await once(createInterface({ input: child.stdout }), 'line')
  return String(address)
}

/** `mcps-proxy --http` on a free port; `stop` gives its exit code. */
export async function gateway(scope: Scope, ...args: readonly string[]) {
  const env = { ...process.env, HOME: folder }
  const { proxy, port } = await spawnGateway(scope, ['--http', '--port', '0', ...args], { env })
  const stop = (): Promise<number | string> => {
    proxy.child.kill()
    return proxy.exited
  }
  return { origin: `http://127.0.0.1:${port}`, port, stop }
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
