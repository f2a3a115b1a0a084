// The interpreter of a session, which runs pieces of code in sequence and keeps their variables.

import { Buffer } from 'node:buffer'
import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { programFolder } from '../folder.js'
import { quote } from '../jsonrpc/text.js'
import { objectIn } from '../text/json-object.js'
import type { CallOutput, StreamName } from './call-output.js'
import type { GuestExit, GuestProcess, Machine, SandboxLanguage } from './runtime.js'
import type { RunEnd } from './runs.js'

const NONCE_BYTES = 16

/** The mark at the end of each output, which no program can guess. */
const secretNonce = (): string => randomBytes(NONCE_BYTES).toString('hex')

export class Repl {
  readonly ended: Promise<GuestExit>
  readonly #process: GuestProcess
  readonly #newOutput: () => CallOutput
  readonly #newNonce: () => string
  readonly #streams: Readonly<Record<StreamName, MarkedStream>>
  /** The output of the running code, later of programs that it left. Each stream switches at its mark. */
  readonly #outputs: Record<StreamName, CallOutput>
  #exit: GuestExit | undefined
  /** Ends the running code. One handler is replaced, because handlers on `ended` would accumulate. */
  #onExit: (exit: GuestExit) => void = () => {}

  constructor(interpreter: GuestProcess, newOutput: () => CallOutput, newNonce: () => string = secretNonce) {
    this.#newOutput = newOutput
    this.#newNonce = newNonce
    const output = newOutput()
    this.#outputs = { stdout: output, stderr: output }
    this.#process = interpreter
    const { stdout, stderr, exited } = interpreter
    this.#streams = { stdout: this.#marked('stdout', stdout), stderr: this.#marked('stderr', stderr) }
    this.ended = exited
    void exited.then((exit) => {
      this.#exit = exit
      this.#onExit(exit)
    })
  }

  get isOver(): boolean {
    return this.#exit !== undefined
  }

  /** The output of the next code, including the output since the previous code. */
  get output(): CallOutput {
    return this.#outputs.stdout
  }

  evaluate(code: string): Promise<RunEnd> {
    const { stdout, stderr } = this.#streams
    const nonce = this.#newNonce()
    const next = this.#newOutput()
    const pass = (name: StreamName) => (): void => {
      this.#outputs[name] = next
    }
    const marks = Promise.all([stdout.until(nonce, pass('stdout')), stderr.until(nonce, pass('stderr'))])
    this.#process.stdin.write(`${nonce} ${quote(code)}\n`)
    return new Promise((resolve) => {
      void marks.then(([line]) => resolve(codeEnd(line)))
      this.#onExit = (exit) => resolve({ kind: 'gone', exit })
      if (this.#exit !== undefined) this.#onExit(this.#exit)
    })
  }

  interrupt(): void {
    this.#process.interrupt()
  }

  kill(): void {
    this.#process.kill()
  }

  #marked(name: StreamName, source: Readable): MarkedStream {
    return new MarkedStream(source, (chunk) => this.#outputs[name].push(name, chunk))
  }
}

/** Reads the result of the code from a line that code of the session may have forged. */
function codeEnd(line: string): RunEnd {
  const { ok, artifacts } = objectIn(line) ?? {}
  return { kind: 'done', exitCode: ok === true ? 0 : 1, hasArtifacts: artifacts === true }
}

const NUL = 0
const LF = 0x0a

/** The line after a mark has a few flags. A longer line is forged. */
const LINE_BYTES_MAX = 1024

interface Awaited {
  readonly mark: Buffer
  /** Called with the line after the mark. Later bytes belong to other output. */
  readonly found: (line: string) => void
}

/**
 * A stream in which the output of each piece of code ends with a mark: a NUL, a nonce that no program inside
 * knows before the mark appears, and one more line of text. All other bytes are output.
 */
export class MarkedStream {
  readonly #take: (output: Buffer) => void
  /** Bytes that are the mark, or may be its beginning. */
  #pending = Buffer.alloc(0)
  #awaited: Awaited | undefined

  constructor(source: Readable, take: (output: Buffer) => void) {
    this.#take = take
    source.on('data', (chunk: Buffer) => this.#read(chunk))
    source.on('error', () => undefined)
    source.on('end', () => this.#output(this.#pending))
  }

  /** Resolves with the line after the mark. Calls `passed` between the output before the mark and the output after it. */
  until(nonce: string, passed: () => void): Promise<string> {
    return new Promise((resolve) => {
      const found = (line: string): void => {
        passed()
        resolve(line)
      }
      this.#awaited = { mark: Buffer.from(`\0${nonce}`), found }
    })
  }

  #read(chunk: Buffer): void {
    const text = Buffer.concat([this.#pending, chunk])
    const { mark, found } = this.#awaited ?? {}
    if (mark === undefined) return this.#output(text)
    const at = text.indexOf(mark)
    const begin = at === -1 ? beginningOf(mark, text) : at
    const line = begin + mark.length
    const end = at === -1 ? -1 : text.indexOf(LF, line)
    const isHeld = at === -1 || (end === -1 && text.length - line <= LINE_BYTES_MAX)
    this.#pending = isHeld ? Buffer.from(text.subarray(begin)) : Buffer.alloc(0)
    this.#output(text.subarray(0, begin))
    if (isHeld) return
    this.#awaited = undefined
    found?.(end - line > LINE_BYTES_MAX ? '' : text.toString('utf8', line, Math.max(line, end)))
    if (end !== -1 && end + 1 < text.length) this.#read(text.subarray(end + 1))
  }

  #output(text: Buffer): void {
    if (text.length > 0) this.#take(text)
  }
}

/** Returns the length of the text without bytes at its end that may begin the mark. */
function beginningOf(mark: Buffer, text: Buffer): number {
  const from = Math.max(0, text.length - mark.length + 1)
  for (let at = text.indexOf(NUL, from); at !== -1; at = text.indexOf(NUL, at + 1)) {
    if (mark.subarray(0, text.length - at).equals(text.subarray(at))) return at
  }
  return text.length
}

/** Loads the driver from stdin, and keeps a copy of stdin, which programs of the session do not read. */
const PYTHON_LOADER =
  "import os;requests=os.fdopen(os.dup(0),'rb');__file__='<driver>';exec(compile(eval(requests.readline()),__file__,'exec'))"

/** Node cannot move its stdin, so a shell does that and then becomes Node. */
const NODE_SHELL = 'exec "$@" 3<&0 </dev/null'

export function startInterpreter(language: SandboxLanguage, machine: Machine): GuestProcess {
  const [program, ...args] = machine.interpreter
  const node = [program, ...args, '--disable-warning=ExperimentalWarning', '--input-type=module', '-e']
  const started = machine.run(
    language === 'python'
      ? { program, args: [...args, '-c', PYTHON_LOADER] }
      : { program: 'sh', args: ['-c', NODE_SHELL, 'sh', ...node, driver('node-driver.js')] },
  )
  started.stdin.on('error', () => undefined)
  if (language === 'python') started.stdin.write(`${quote(driver('python-driver.py'))}\n`)
  return started
}

/** Returns the text of a driver. Sessions start rarely, so the file is read each time. */
function driver(name: string): string {
  return readFileSync(join(programFolder, 'sandbox', 'guest', name), 'utf8')
}
