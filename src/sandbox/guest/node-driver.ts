// The JavaScript driver of a session: runs pieces of code in sequence, and keeps their variables.
//
// It uses the protocol of `python-driver.py`. Requests arrive on descriptor 3, so that programs of the session
// do not read them from stdin. The console of the engine evaluates the code, so code may redeclare a name and
// use `await` at the top level.

import { Buffer } from 'node:buffer'
import { existsSync, writeSync } from 'node:fs'
import { type Runtime, Session } from 'node:inspector'
import { createRequire } from 'node:module'
import { Socket } from 'node:net'
import { join } from 'node:path'
import process from 'node:process'
import { inspect } from 'node:util'
import vm from 'node:vm'
import { importerName, withoutImports } from './import-statements.js'

const REQUESTS = 3

const INTERRUPTED = 'interrupted\n'

/** The global key under which the driver stores the code for a script that SIGINT can end. */
const ENTRY = "globalThis[Symbol.for('entry of the session')]"
const entry = Symbol.for('entry of the session')

/** `@types/node` does not declare `replMode` yet. */
interface ConsoleTerms extends Runtime.EvaluateParameterType {
  readonly replMode: boolean
}

type Evaluated = Runtime.EvaluateReturnType

/** Code called `process.exit`. The process continues. */
class ExitAsked extends Error {
  readonly exitCode: number

  constructor(exitCode: number) {
    super(`process.exit(${exitCode})`)
    this.exitCode = exitCode
  }
}

class Driver {
  readonly #console = new Session()
  readonly #folder = join(process.cwd(), 'artifacts')
  readonly #exit = process.exit.bind(process)
  #cells = 0
  /** The id by which the console knows the function that receives values of expressions. */
  #receiverId = ''
  #received: unknown
  /** Ends the running code. `words` are its last output on stderr. */
  #end: (isOk: boolean, words?: string) => void = () => {}
  #queue: Promise<void> = Promise.resolve()

  start(): void {
    process.title = 'node'
    writeAtOnce(process.stdout, 1)
    writeAtOnce(process.stderr, 2)
    this.#console.connect()
    this.#prepareNames()
    process.on('SIGINT', () => this.#end(false, INTERRUPTED))
    process.on('uncaughtException', (error) => this.#uncaught(error))
    process.on('unhandledRejection', (error) => this.#uncaught(error))
    const requests = new Socket({ fd: REQUESTS, readable: true, writable: false })
    requests.setEncoding('utf8')
    let text = ''
    requests.on('data', (chunk: string) => {
      const lines = `${text}${chunk}`.split('\n')
      text = lines.pop() ?? ''
      for (const line of lines) this.#queue = this.#queue.then(() => this.#serve(line))
    })
    requests.on('close', () => this.#exit(0))
  }

  #prepareNames(): void {
    const module = { exports: {} }
    const here = join(process.cwd(), 'cell.js')
    const importer: unknown = vm.runInThisContext('(name) => import(name)', {
      filename: here,
      importModuleDynamically: vm.constants.USE_MAIN_CONTEXT_DEFAULT_LOADER,
    })
    const names = { require: createRequire(here), module, exports: module.exports, [importerName]: importer }
    for (const [name, value] of Object.entries(names))
      Object.defineProperty(globalThis, name, { value, writable: true, configurable: true })
    process.exit = (code) => {
      throw new ExitAsked(Number(code ?? 0))
    }
    const take = (value: unknown): void => {
      this.#received = value
    }
    Object.defineProperty(globalThis, entry, { value: take, configurable: true })
    this.#console.post('Runtime.evaluate', { expression: ENTRY }, (_error, found) => {
      this.#receiverId = found.result.objectId ?? ''
    })
  }

  async #serve(line: string): Promise<void> {
    const space = line.indexOf(' ')
    const nonce = line.slice(0, space)
    const ok = await this.#run(String(JSON.parse(line.slice(space + 1))))
    const state = JSON.stringify({ ok, artifacts: existsSync(this.#folder) })
    writeFully(2, `\0${nonce}\n`)
    writeFully(1, `\0${nonce}${state}\n`)
  }

  #run(code: string): Promise<boolean> {
    return new Promise((resolve) => {
      this.#end = (isOk, words = '') => {
        writeFully(2, words)
        this.#end = () => {}
        resolve(isOk)
      }
      const name = `cell-${++this.#cells}`
      const evaluate = (): void => this.#evaluate(code, name)
      Object.defineProperty(globalThis, entry, { value: evaluate, configurable: true })
      try {
        vm.runInThisContext(`${ENTRY}()`, { breakOnSigint: true })
      } catch {
        this.#end(false, INTERRUPTED)
      }
    })
  }

  #evaluate(code: string, name: string): void {
    const own = this.#end
    const expression = `${withoutImports(code)}\n//# sourceURL=${name}`
    const terms: ConsoleTerms = { expression, replMode: true, awaitPromise: true }
    this.#console.post('Runtime.evaluate', terms, (error, evaluated) => {
      if (this.#end !== own) return
      if (error === null) own(this.#show(code, evaluated))
      else own(false, `${error.message}\n`)
    })
  }

  #show(code: string, { result, exceptionDetails }: Evaluated): boolean {
    if (exceptionDetails === undefined) {
      // As in other consoles, a semicolon at the end suppresses the value.
      if (result.type !== 'undefined' && !/[;}]\s*$/.test(code))
        writeFully(1, `${inspect(this.#valueOf(result))}\n`)
      return true
    }
    const thrown = this.#valueOf(exceptionDetails.exception ?? result)
    if (thrown instanceof ExitAsked) return thrown.exitCode === 0
    const place = `line ${exceptionDetails.lineNumber + 1}, column ${exceptionDetails.columnNumber + 1}`
    writeFully(2, `Uncaught ${shown(thrown)}${thrown instanceof SyntaxError ? ` (${place})` : ''}\n`)
    return false
  }

  #valueOf({ objectId, unserializableValue, value }: Runtime.RemoteObject): unknown {
    const plain = unserializableValue === undefined ? { value } : { unserializableValue }
    const given = objectId === undefined ? plain : { objectId }
    const functionDeclaration = 'function (value) { this(value) }'
    const terms = { objectId: this.#receiverId, functionDeclaration, arguments: [given] }
    this.#console.post('Runtime.callFunctionOn', terms, () => {})
    const taken = this.#received
    this.#received = undefined
    return taken
  }

  #uncaught(error: unknown): void {
    if (error instanceof ExitAsked) return this.#end(error.exitCode === 0)
    writeFully(2, `Uncaught ${shown(error)}\n`)
  }
}

/**
 * Makes a stream write synchronously and without internal state.
 *
 * SIGINT may end code anywhere, and a stream that is interrupted during a write never writes again.
 */
function writeAtOnce(stream: NodeJS.WriteStream, descriptor: number): void {
  stream.write = (chunk: string | Uint8Array, ...rest: readonly unknown[]): boolean => {
    const [encoding] = rest
    const bytes =
      typeof chunk === 'string' ? Buffer.from(chunk, isEncoding(encoding) ? encoding : 'utf8') : chunk
    writeFully(descriptor, bytes)
    const written = rest.find((each) => typeof each === 'function')
    if (typeof written === 'function') queueMicrotask(() => void Reflect.apply(written, undefined, []))
    return true
  }
}

function isEncoding(value: unknown): value is BufferEncoding {
  return typeof value === 'string' && Buffer.isEncoding(value)
}

/** Returns the text of an error without the frames of this file and of the console. */
function shown(error: unknown): string {
  return inspect(error).replace(
    /\n\s+at (?:Session\.post|node:inspector)[^]*?(?=\n\s*\}|\n\s*\[cause\]|$)/,
    '',
  )
}

new Driver().start()

/** Writes all bytes. Waits while the reader is slow, and stops if the reader is gone. */
export function writeFully(descriptor: number, chunk: string | Uint8Array): void {
  const bytes = Buffer.from(chunk)
  for (let at = 0; at < bytes.length;) {
    try {
      at += writeSync(descriptor, bytes, at)
    } catch (error) {
      if (!(error instanceof Error && 'code' in error && error.code === 'EAGAIN')) return
      pause(1)
    }
  }
}

function pause(delayMs: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT)), 0, 0, delayMs)
}
