// No part of a secret remains when a text is cut anywhere inside the secret.

import { strict as assert } from 'node:assert'
import { PassThrough } from 'node:stream'
import { test } from 'node:test'
import { callEvent } from '../proxy/support/call-event.js'
import { ServerEventLog } from '../../src/cli/server-event-log.js'
import { FrameError } from '../../src/jsonrpc/jsonrpc-errors.js'
import { Logger } from '../../src/log/log.js'
import type { LogRecord } from '../../src/runtime/runtime.js'
import { Redactor } from '../../src/text/redactor.js'
import { unusable } from '../../src/upstream/contracts/upstream-error.js'
import { Noise } from '../../src/upstream/server/noise.js'
import { StderrLog } from '../../src/upstream/process/stderr-log.js'

const secret = 'K7fQz9Wm2Yt4Ub6Vn8Xp3Cs5Dr1Eg0Ha7Jl2Mo9'
const runtime = { now: (): number => 0, setTimer: () => ({ cancel: (): void => undefined }) }
const redactor = new Redactor([secret])

function loggerTo(lines: string[]): Logger {
  const stream = { writableLength: 0, write: (text: string) => lines.push(text) > 0 }
  const logger = new Logger({ level: 'info', console: { stream, format: 'json' } })
  logger.addSecrets([secret])
  return logger
}

function loggedRecord(record: LogRecord): string {
  const lines: string[] = []
  loggerTo(lines).sink(record)
  return lines.join('')
}

/** The log line of a call that failed with this message of its server. */
function loggedFailure(message: string): string {
  const lines: string[] = []
  const eventLog = new ServerEventLog(loggerTo(lines), runtime)
  eventLog.listeners.failure?.(callEvent({ outcome: 'error', code: -32000, message }))
  eventLog.close()
  return lines.join('')
}

async function stderrLine(text: string): Promise<string> {
  const lines: string[] = []
  const stream = new PassThrough()
  const log = ({ message }: LogRecord): void => void lines.push(message)
  const limits = { stderr: { lineBytesMax: 1000, linesPerSecondMax: 100 } }
  new StderrLog('s', { limits, runtime, log }, redactor).drain(stream)
  stream.end(`${text}\n`)
  await new Promise((resolve) => stream.once('close', resolve))
  return lines.join('\n')
}

function noiseLine(text: string): string {
  const lines: string[] = []
  const limits = {
    linesMax: 5,
    bytesMax: 1e6,
  }
  const log = ({ message }: LogRecord): void => void lines.push(message)
  const context = { service: 's', redactor, runtime, log }
  const noise = new Noise(context, limits, () => undefined)
  noise.line(Buffer.from(text), new FrameError('FRAME_SYNTAX', 'no JSON', 0))
  return lines.join('\n')
}

const plain = { level: 'warn', message: 'm' } as const

const cuts: readonly [title: string, cutAt: number, show: (text: string) => string | Promise<string>][] = [
  ['the message of a failed call', 500, loggedFailure],
  ['the message of a log record', 8192, (message) => loggedRecord({ level: 'warn', message })],
  ['a detail', 8192, (text) => loggedRecord({ ...plain, details: { text } })],
  ['an error', 8192, (text) => loggedRecord({ ...plain, details: { error: new Error(text) } })],
  ['bytes', 8192, (text) => loggedRecord({ ...plain, details: { bytes: Buffer.from(text) } })],
  ['a line of stderr', 1000, stderrLine],
  ['a line that is no message', 200, noiseLine],
  ['a server that does not open', 500, (why) => unusable({ service: 's', redactor }, why).message],
]

for (const [title, cutAt, show] of cuts)
  test(`a secret across the cut of a text: ${title}`, async () => {
    const parts = Array.from({ length: secret.length - 3 }, (_, at) => secret.slice(at, at + 4))
    // Marks are shorter than this secret, so earlier secrets move the later text towards the beginning.
    for (const before of ['', `${secret} ${secret} ${secret} `])
      for (let at = cutAt - secret.length - 2; at <= cutAt + 2; at++) {
        const shown = await show(`${before}${'-'.repeat(at - before.length)}${secret}${'-'.repeat(9000)}`)
        assert.equal(
          parts.find((part) => shown.includes(part)),
          undefined,
          `at ${at}: ${shown}`,
        )
      }
  })
