// Why a front cannot listen, with a remedy.

import type { FrontOptions } from './http-front.js'

/** The system's error with its `code`, and a message for the person who started the front. */
export function listenFailure(
  error: unknown,
  { host, port, remedies }: Pick<FrontOptions, 'host' | 'port' | 'remedies'>,
): unknown {
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  const what = words.get(code)
  if (what === undefined) return error
  const message = `cannot listen on ${host}, port ${port}: ${what.problem} (${code}); ${remedies[what.remedy]}`
  return Object.assign(new Error(message, { cause: error }), { code })
}

interface Words {
  readonly problem: string
  readonly remedy: 'port' | 'host'
}

const words: ReadonlyMap<string, Words> = new Map<string, Words>([
  ['EADDRINUSE', { problem: 'the port is taken', remedy: 'port' }],
  ['EACCES', { problem: 'this user may not listen there', remedy: 'port' }],
  ['EADDRNOTAVAIL', { problem: 'this machine has no such address', remedy: 'host' }],
  ['ENOTFOUND', { problem: 'the name is not known', remedy: 'host' }],
  ['EAI_AGAIN', { problem: 'the name could not be looked up', remedy: 'host' }],
])
