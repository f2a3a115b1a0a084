// The interpreter of a session, which runs one piece of code after the other and keeps their variables.

import { parse, quote } from '../jsonrpc/text.js'
import type { CallOutput, StreamName } from './call-output.js'
import { MarkedStream } from './marked-stream.js'
import type { GuestExit, GuestProcess } from './runtime.js'

/** How one piece of code ended. */
export type CodeEnd =
  | {
      readonly kind: 'done'
      readonly isSuccess: boolean
      /** Whether there is a folder for artifacts. */
      readonly hasArtifacts: boolean
    }
  /** The interpreter has ended, and its variables with it. */
  | { readonly kind: 'gone'; readonly exit: GuestExit }

export interface ReplTerms {
  /** A word that nobody guesses. */
  readonly nonce: () => string
  readonly output: () => CallOutput
}

/** A running interpreter. */
export class Repl {
  readonly ended: Promise<GuestExit>
  readonly #process: GuestProcess
  readonly #terms: ReplTerms
  readonly #streams: Readonly<Record<StreamName, MarkedStream>>
  /** Of the code that runs, or of what runs on between two pieces of code; each stream changes at its own mark. */
  readonly #outputs: Record<StreamName, CallOutput>
  #exit: GuestExit | undefined
  /** Ends the code that runs; `ended` would remember all code that has ever run. */
  #gone: (exit: GuestExit) => void = () => {}

  constructor(interpreter: GuestProcess, terms: ReplTerms) {
    this.#terms = terms
    const output = terms.output()
    this.#outputs = { stdout: output, stderr: output }
    this.#process = interpreter
    const { stdout, stderr, exited } = interpreter
    this.#streams = { stdout: this.#marked('stdout', stdout), stderr: this.#marked('stderr', stderr) }
    this.ended = exited
    void exited.then((exit) => {
      this.#exit = exit
      this.#gone(exit)
    })
  }

  get isOver(): boolean {
    return this.#exit !== undefined
  }

  /** The output of the code that is run next, with what has come since the code before it. */
  get output(): CallOutput {
    return this.#outputs.stdout
  }

  /** Runs code; one piece at a time. */
  evaluate(code: string): Promise<CodeEnd> {
    const { stdout, stderr } = this.#streams
    const nonce = this.#terms.nonce()
    const next = this.#terms.output()
    const pass = (name: StreamName) => (): void => {
      this.#outputs[name] = next
    }
    const marks = Promise.all([
      stdout.until(nonce, true, pass('stdout')),
      stderr.until(nonce, false, pass('stderr')),
    ])
    this.#process.stdin.write(`${nonce} ${quote(code)}\n`)
    return new Promise((resolve) => {
      void marks.then(([line]) => resolve(codeEnd(line)))
      this.#gone = (exit) => resolve({ kind: 'gone', exit })
      if (this.#exit !== undefined) this.#gone(this.#exit)
    })
  }

  interrupt(): void {
    this.#process.interrupt()
  }

  kill(): void {
    this.#process.kill()
  }

  #marked(name: StreamName, source: GuestProcess['stdout']): MarkedStream {
    const marked = new MarkedStream(source, (chunk) => {
      const full = this.#outputs[name].push(name, chunk)
      full?.onDrain(() => marked.resume())
      return full === undefined
    })
    return marked
  }
}

/** What comes from inside may be anything. */
function codeEnd(line: string): CodeEnd {
  const { ok, artifacts } = membersOf(line)
  return { kind: 'done', isSuccess: ok === true, hasArtifacts: artifacts === true }
}

function membersOf(line: string): { readonly ok?: unknown; readonly artifacts?: unknown } {
  try {
    const value = parse(line)
    return typeof value === 'object' && value !== null ? value : {}
  } catch {
    return {}
  }
}
