// The first line of a transcript: what it was made with, and what to replay it against.

import { type JsonNode, type ObjectNode, child, textOf } from './json-tree.js'
import { refuseUnknown } from './line.js'
import { PatternError } from './pattern.js'

/** The transport of the messages. */
export type Carrier = 'stdio' | 'http'

export interface Header {
  /** Made by `--record`: values that the other end chooses anew are found by their places. */
  readonly recorded: boolean
  /** The transport that it needs; undefined when it replays over both. */
  readonly transport: Carrier | undefined
  /** The address of a server that is started for it. */
  readonly url: string | undefined
  /** The command of a server; undefined replays against the proxy. */
  readonly command: readonly string[] | undefined
  /** The arguments of the proxy. */
  readonly args: readonly string[] | undefined
  /** The proxy's configuration, as JSON. */
  readonly config: string | undefined
  /** A service on the network that the configuration needs: what is started for it, listening on `$beside`. */
  readonly beside: readonly string[] | undefined
  /** Environment variables on top of our own. */
  readonly env: ReadonlyMap<string, string>
}

const VERSION = '1'

const KEYS: ReadonlySet<string> = new Set(
  'mcps title recorded transport url command args config beside env revision at'.split(' '),
)

/** @throws PatternError when it is not written as it must be */
export function readHeader(tree: JsonNode, bytes: Buffer): Header {
  if (tree.kind !== 'object') throw new PatternError('a header must be an object')
  refuseUnknown(tree, KEYS)
  const version = child(tree, 'mcps')
  if (version?.kind !== 'number' || version.text !== VERSION) {
    throw new PatternError(`"mcps" must be ${VERSION}, the version of the format`)
  }
  const config = child(tree, 'config')
  if (config !== undefined && config.kind !== 'object') throw new PatternError('"config" must be an object')
  const recorded = child(tree, 'recorded')
  return {
    recorded: recorded?.kind === 'boolean' && recorded.text === 'true',
    transport: transportOf(tree),
    url: urlOf(tree),
    command: commandOf(tree),
    args: texts(tree, 'args'),
    config: config && bytes.toString('utf8', config.start, config.end),
    beside: texts(tree, 'beside'),
    env: environment(tree),
  }
}

/** With a port in place of `$port`. */
function urlOf(tree: ObjectNode): string | undefined {
  const node = child(tree, 'url')
  const url = textOf(node)
  if (node === undefined) return undefined
  const example = url?.replaceAll('$port', '1') ?? ''
  if (url !== undefined && /^https?:/.test(example) && URL.canParse(example)) return url
  throw new PatternError('"url" must be like "http://127.0.0.1:$port/mcp"')
}

function transportOf(tree: ObjectNode): Carrier | undefined {
  const node = child(tree, 'transport')
  const transport = textOf(node)
  if (node === undefined) return undefined
  if (transport === 'stdio' || transport === 'http') return transport
  throw new PatternError('"transport" must be "stdio" or "http"')
}

/** One text describes how a recording was made; a list is a server to start. */
function commandOf(tree: ObjectNode): readonly string[] | undefined {
  return child(tree, 'command')?.kind === 'string' ? undefined : texts(tree, 'command')
}

function texts(tree: ObjectNode, name: string): readonly string[] | undefined {
  const node = child(tree, name)
  if (node === undefined) return undefined
  const values = node.kind === 'array' ? node.items.map(textOf) : [undefined]
  return values.map((value) => {
    if (value === undefined) throw new PatternError(`"${name}" must be a list of strings`)
    return value
  })
}

function environment(tree: ObjectNode): ReadonlyMap<string, string> {
  const node = child(tree, 'env')
  const members = node?.kind === 'object' ? node.members : []
  return new Map(
    members.map(({ name, value }) => {
      const text = textOf(value)
      if (text === undefined) throw new PatternError(`"env.${name}" must be a string`)
      return [name, text]
    }),
  )
}
