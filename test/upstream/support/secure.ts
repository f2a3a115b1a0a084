import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { TlsOptions } from 'node:tls'
import { at } from '../../integration/support/json.js'
import { libraryProxy } from '../../integration/support/library.js'
import { scratch } from '../../integration/support/spawned.js'
import { Authority, certificate } from '../../transports/support/certificates.js'
import { oneTool } from '../../transports/support/one-tool.js'
import { type Scope, scripted } from '../../transports/support/scripted.js'

export const authority = new Authority('An authority of these tests')
export const NAME = 'service.example'

export const work = oneTool(`{"content":[],"x":"${'y'.repeat(200_000)}"}`)

export async function secure(scope: Scope, options: TlsOptions = {}): Promise<number> {
  const tls = { ...certificate({ names: [NAME], by: authority }), ...options }
  const { url } = await scripted(scope, work, { tls })
  return Number(url.port)
}

export async function plain(scope: Scope): Promise<number> {
  const { url } = await scripted(scope, work)
  return Number(url.port)
}

export function file(scope: Scope, text: string): string {
  const path = join(scratch(scope), 'file.pem')
  writeFileSync(path, text)
  return path
}

export async function called(
  scope: Scope,
  entry: object,
): Promise<{ readonly value: unknown; readonly log: string }> {
  const { attach, log } = await libraryProxy(scope, { s: { retries: 0, ...entry } })
  const clients = [await attach(), await attach()]
  for (const { client } of clients) await client.open()
  const answers = await Promise.all(clients.map(({ client }) => client.call('s__work')))
  const [one, other] = answers.map(({ value }) => at(value, 'result', 'x') ?? at(value, 'error', 'message'))
  assert.equal(one, other)
  return { value: answers[0]?.value, log: JSON.stringify([log, answers]) }
}
