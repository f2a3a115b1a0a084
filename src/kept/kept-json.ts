// The file of one configuration: JSON, in which the words of the servers stand as texts.
//
// A file may be torn, damaged or edited, and what it holds is written into messages to clients. An entry that is not
// exactly of this form counts as missing.

import { Buffer } from 'node:buffer'
import { defaultFrameLimits } from '../jsonrpc/frame.js'
import { scanText } from '../jsonrpc/scan.js'
import type { KeptLimits } from '../limits.js'
import { listKinds } from '../mcp/list-items.js'
import type { ListKind } from '../mcp/methods.js'
import type { KeptFacts, SelfDescription } from '../upstream/contracts/kept.js'
import { isObject } from '../text/json-object.js'

/** The kept facts of one configuration. Entries are decoded when their server is asked for. */
export interface KeptJson {
  /** Makes the ids of the entries, so that no value of a configuration can be guessed from them. */
  readonly salt: string
  /** By id. */
  readonly entries: ReadonlyMap<string, unknown>
}

const FORMAT = 1

/** Undefined for everything that is no such file. */
export function decodeKept(bytes: Buffer): KeptJson | undefined {
  const json = parsed(bytes)
  if (!isObject(json) || json['format'] !== FORMAT) return undefined
  const { salt, servers } = json
  if (typeof salt !== 'string' || salt === '' || !isObject(servers)) return undefined
  return { salt, entries: new Map(Object.entries(servers)) }
}

/**
 * Entries that were not used for `unusedMsMax` are left out, and those that were not used for longest where there are
 * too many, or too many bytes of them.
 */
export function encodeKept(
  { salt, entries }: KeptJson,
  source: string,
  nowMs: number,
  { serversMax, fileBytesMax, unusedMsMax }: Pick<KeptLimits, 'serversMax' | 'fileBytesMax' | 'unusedMsMax'>,
): Buffer {
  const used = [...entries]
    .filter(([, entry]) => nowMs - usedAt(entry) <= unusedMsMax)
    .sort(([, one], [, other]) => usedAt(other) - usedAt(one))
  const head = `{"format":${FORMAT},"source":${JSON.stringify(source)},"salt":${JSON.stringify(salt)},"servers":{`
  const lines: string[] = []
  let bytes = head.length
  for (const [id, entry] of used) {
    const line = `${JSON.stringify(id)}:${JSON.stringify(entry)}`
    const length = Buffer.byteLength(line) + 2
    if (lines.length >= serversMax || bytes + length > fileBytesMax) continue
    bytes += length
    lines.push(line)
  }
  return Buffer.from(`${head}\n${lines.join(',\n')}}}\n`)
}

/** When the entry was used last, in milliseconds since 1970; 0 where it does not say. */
export function usedAt(entry: unknown): number {
  return isObject(entry) && typeof entry['usedAt'] === 'number' ? entry['usedAt'] : 0
}

/** `name` is for people who look into the file. */
export function toEntry(name: string, nowMs: number, facts: KeptFacts): unknown {
  const { description, ...rest } = facts
  const said = description && {
    handshake: Buffer.from(description.handshake).toString(),
    probeFailed: description.probeFailed,
    lists: Object.fromEntries(
      [...description.lists].map(([kind, items]) => [
        kind,
        items.map((item) => Buffer.from(item).toString()),
      ]),
    ),
  }
  return { name, usedAt: nowMs, ...rest, ...(said && { description: said }) }
}

/** Undefined for everything that `toEntry` has not made. */
export function fromEntry(entry: unknown): KeptFacts | undefined {
  if (!isObject(entry)) return undefined
  const { failure, isGivenUp, description: said } = entry
  if (failure !== undefined && typeof failure !== 'string') return undefined
  const description = said === undefined ? undefined : toDescription(said)
  if (said !== undefined && description === undefined) return undefined
  return { failure, ...(isGivenUp === true && { isGivenUp }), description }
}

function toDescription(said: unknown): SelfDescription | undefined {
  if (!isObject(said) || !isObject(said['lists']) || typeof said['probeFailed'] !== 'boolean')
    return undefined
  const handshake = rawJson(said['handshake'])
  if (handshake === undefined) return undefined
  const lists = new Map<ListKind, readonly Uint8Array[]>()
  for (const kind of listKinds) {
    const texts = said['lists'][kind]
    if (texts === undefined) continue
    const items = Array.isArray(texts) ? texts.map(rawJson) : [undefined]
    const there = items.filter((item) => item !== undefined)
    if (there.length < items.length) return undefined
    lists.set(kind, there)
  }
  return { handshake, lists, probeFailed: said['probeFailed'] }
}

/** It becomes part of messages to clients: nothing but one JSON text may. */
function rawJson(text: unknown): Buffer | undefined {
  if (typeof text !== 'string') return undefined
  const bytes = Buffer.from(text)
  try {
    scanText(bytes, defaultFrameLimits.depthMax)
    return bytes
  } catch {
    return undefined
  }
}

function parsed(bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString())
  } catch {
    return undefined
  }
}
