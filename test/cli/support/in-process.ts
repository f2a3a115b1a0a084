// Runs a command inside this process.

import process from 'node:process'
import { PassThrough } from 'node:stream'
import { readArguments } from '../../../src/cli/commands.js'
import { replyToFailure } from '../../../src/cli/reply.js'
import type { Ran } from '../../integration/support/spawned.js'

/** The contents of stdin, or the line that a user types once stderr has this text. */
type Input = string | ((err: string) => Promise<string> | undefined)

let last: Promise<unknown> = Promise.resolve()

/** Commands share the environment and the streams of this process, so they run one after the other. */
export function runCommand(
  args: readonly string[],
  env: NodeJS.ProcessEnv = process.env,
  input: Input = '',
): Promise<Ran> {
  const running = last.then(() => run(args, env, input))
  last = running.catch(() => undefined)
  return running
}

async function run(args: readonly string[], env: NodeJS.ProcessEnv, input: Input): Promise<Ran> {
  const { env: own, stdin } = process
  const listeners = listenersOfProcess()
  const typed = new PassThrough()
  if (typeof input === 'string') typed.end(input)
  const [out, err] = [
    intercept(process.stdout),
    intercept(process.stderr, (text) => type(typed, input, text)),
  ]
  process.env = { ...env }
  Object.defineProperty(process, 'stdin', { value: typed, configurable: true })
  try {
    const code = await exitCodeOf(args)
    return { code, out: out.texts.join(''), err: err.texts.join('') }
  } finally {
    for (const each of [out, err]) each.restore()
    process.env = own
    Object.defineProperty(process, 'stdin', { value: stdin, configurable: true })
    for (const [name, listener] of listenersOfProcess())
      if (!listeners.some(([, other]) => other === listener))
        Reflect.apply(process.off.bind(process), undefined, [name, listener])
  }
}

function type(stdin: PassThrough, input: Input, err: string): void {
  if (typeof input === 'function') void input(err)?.then((line) => stdin.end(`${line}\n`))
}

/** The same as in `src/cli.ts`. */
async function exitCodeOf(args: readonly string[]): Promise<number> {
  try {
    const asked = await readArguments(args)
    if (asked.kind !== 'task') throw new Error(`${asked.kind} is no task`)
    return await asked.command.run(asked.given, { program: 'mcps-proxy', argv: args, isNamed: asked.isNamed })
  } catch (error) {
    const { text, exitCode } = await replyToFailure(error, 'mcps-proxy')
    process.stderr.write(text)
    return exitCode
  }
}

/** A command leaves these listeners behind, because its process normally ends with it. */
const left = ['SIGINT', 'SIGTERM', 'SIGHUP', 'uncaughtException', 'unhandledRejection'] as const

const listenersOfProcess = (): (readonly [name: string, listener: unknown])[] =>
  left.flatMap((name) => process.rawListeners(name).map((listener) => [name, listener] as const))

/** Commands write strings. Bytes come from the test runner and pass through. */
function intercept(stream: NodeJS.WriteStream, onText: (all: string) => void = () => undefined) {
  const texts: string[] = []
  const pass = stream.write.bind(stream)
  Reflect.set(stream, 'write', (chunk: unknown, ...more: unknown[]) => {
    if (typeof chunk !== 'string') return Reflect.apply(pass, undefined, [chunk, ...more])
    texts.push(chunk)
    onText(texts.join(''))
    const done = more.at(-1)
    if (typeof done === 'function') setImmediate(() => void Reflect.apply(done, undefined, []))
    return true
  })
  return { texts, restore: () => void Reflect.deleteProperty(stream, 'write') }
}
