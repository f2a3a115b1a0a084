// A process in which JavaScript runs in QuickJS as WebAssembly: it has two streams to write to, and nothing else of the host.
//
// usage: node quickjs-host.js
//
// The first line of stdin is JSON: the script that makes the console, and how much memory there is. The lines behind it are
// requests, as `python-driver.py` reads them.

import process from 'node:process'
import {
  type QuickJSContext,
  type QuickJSHandle,
  newQuickJSWASMModuleFromVariant,
} from 'quickjs-emscripten-core'
import { writeFully } from '../guest/write-fully.js'
import { Requests, tellReady } from './requests.js'

interface Settings {
  readonly console: string
  readonly memoryBytesMax: number
}

/** More, and the stack of the process ends first, with the process. */
const STACK_BYTES_MAX = 256 * 1024

/** Runs one piece of code after the other in one context. */
class QuickJsHost {
  readonly #context: QuickJSContext
  readonly #show: QuickJSHandle
  #cells = 0

  constructor(context: QuickJSContext, console: string) {
    this.#context = context
    const write = context.newFunction('write', (stream, text) => {
      writeFully(context.getNumber(stream) === 1 ? 1 : 2, context.getString(text))
    })
    context.setProp(context.global, '__write', write)
    write.dispose()
    context.unwrapResult(context.evalCode(console, '<console>')).dispose()
    this.#show = context.getProp(context.global, '__show')
    context.unwrapResult(context.evalCode('delete globalThis.__show', '<console>')).dispose()
  }

  serve(requests: Requests): void {
    tellReady()
    for (let line = requests.line(); line !== undefined; line = requests.line()) {
      const space = line.indexOf(' ')
      const nonce = line.slice(0, space)
      const ok = this.#run(String(JSON.parse(line.slice(space + 1))))
      writeFully(2, `\0${nonce}`)
      writeFully(1, `\0${nonce}${JSON.stringify({ ok, interrupted: false, artifacts: [] })}\n`)
    }
  }

  /** Whether the code has ended well. */
  #run(code: string): boolean {
    const context = this.#context
    const result = context.evalCode(code, `cell-${++this.#cells}`, { type: 'global' })
    if (result.error !== undefined) return this.#fail(result.error)
    const jobs = context.runtime.executePendingJobs()
    if (jobs.error !== undefined) return this.#fail(jobs.error)
    const state = context.getPromiseState(result.value)
    if (state.type === 'rejected') return this.#fail(state.error)
    const value = state.type === 'fulfilled' ? state.value : result.value
    // As in other consoles, a semicolon at the end says that nobody wants the value.
    if (context.typeof(value) !== 'undefined' && !/[;}]\s*$/.test(code))
      writeFully(1, `${this.#text(value)}\n`)
    value.dispose()
    if (result.value.alive) result.value.dispose()
    return true
  }

  #fail(error: QuickJSHandle): false {
    writeFully(2, `Uncaught ${this.#text(error)}\n`)
    error.dispose()
    return false
  }

  #text(value: QuickJSHandle): string {
    const context = this.#context
    const result = context.callFunction(this.#show, context.undefined, value)
    if (result.error !== undefined) {
      result.error.dispose()
      return '(a value that cannot be shown; the memory of the session may be full)'
    }
    return result.value.consume((text) => context.getString(text))
  }
}

async function main(): Promise<void> {
  const requests = new Requests()
  const settings: Settings = JSON.parse(requests.line() ?? '')
  const module = await newQuickJSWASMModuleFromVariant(import('@jitl/quickjs-wasmfile-release-sync'))
  const runtime = module.newRuntime({
    memoryLimitBytes: settings.memoryBytesMax,
    maxStackSizeBytes: STACK_BYTES_MAX,
  })
  new QuickJsHost(runtime.newContext(), settings.console).serve(requests)
  process.exitCode = 0
}

await main()
