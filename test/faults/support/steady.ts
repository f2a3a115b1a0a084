// Clients that are not slow, on a thread of their own: whoever is slow on purpose keeps this one busy.

import { resolve } from 'node:path'
import { Worker } from 'node:worker_threads'
import type { SteadyAsked, SteadyTold } from '../programs/steady.js'

const program = resolve(import.meta.dirname, '../programs/steady.js')

/** Asks each of these proxies at a steady rate, all at the same time. */
export function steady(asked: SteadyAsked): Promise<SteadyTold> {
  return new Promise((done, fail) => {
    const worker = new Worker(program, { workerData: asked })
    worker.once('message', (told: SteadyTold) => done(told))
    worker.once('error', fail)
  })
}
