// A server without processes, as the routers of clients see it.

import { strict as assert } from 'node:assert'
import { resolveConfig, selectSchema } from '../../../src/config/config.js'
import { splice } from '../../../src/jsonrpc/splice.js'
import { quote } from '../../../src/jsonrpc/text.js'
import type { Call, Outcome } from '../../../src/calls/call.js'
import { presumedCapabilities } from '../../../src/mcp/capabilities.js'
import { type ListItem, listKinds, listShapes, readListItem } from '../../../src/mcp/list-items.js'
import type { ListKind } from '../../../src/mcp/methods.js'
import { latestSession } from '../../../src/mcp/revisions.js'
import type { Lane } from '../../../src/upstream/contracts/upstream.js'
import { errorOf } from '../../jsonrpc/support/frames.js'

const ignore = (): void => {}

export type Lists = Partial<Record<ListKind, readonly string[]>>

/** A server that is ready, or becomes ready when `start` is called. */
export class FakeServer {
  readonly lane: Lane
  readonly #known = new Set<ListKind>()
  /** Its lists from now on. */
  lists: Lists
  #isListed: boolean
  last: Call | undefined

  /**
   * `calls` records each call as the server would read it. A call for an item in `missing` is answered with an error.
   * A server that `starts` shows the lists of an earlier start if it `remembers` them.
   */
  constructor(
    name: string,
    lists: Lists,
    calls: string[],
    {
      starts = false,
      remembers = false,
      missing = '',
      extensions = [],
      deny = [],
    }: {
      starts?: boolean
      remembers?: boolean
      missing?: string
      extensions?: readonly string[]
      deny?: readonly string[]
    } = {},
  ) {
    this.lists = lists
    this.#isListed = !starts
    if (!starts) this.#come()
    const context = { source: 'memory', folder: '/', env: {}, home: '/' }
    const config = selectSchema(
      resolveConfig({ mcpServers: { [name]: { command: 'x', tools: { deny } } } }, context),
      'default',
    ).servers[0]
    assert(config !== undefined)
    const known = this.#known
    const isListed = (): boolean => this.#isListed
    this.lane = {
      config,
      view: {
        get state() {
          return known.size === 0 ? 'starting' : 'connected'
        },
        failure: undefined,
        facts: {
          revision: latestSession,
          capabilities: {
            ...presumedCapabilities,
            extensions: new Map(extensions.map((each) => [each, '{}'])),
          },
          instructions: undefined,
          handshake: Buffer.from('{}'),
        },
        before: { kind: 'nothing' },
        startedAt: 0,
        isStarting: false,
        get isPending() {
          return !isListed()
        },
        isComing: () => !isListed(),
        isShown: isListed,
        listedAt: () => undefined,
        wasKept: false,
        items: (kind) => (known.size === 0 && !remembers ? NONE : itemsOf(kind, this.lists[kind] ?? NONE)),
        want: ignore,
      },
      listed: known,
      keepsTasks: false,
      isRetired: false,
      isShared: true,
      pids: [],
      wantFor: ignore,
      call: (call, edits) => {
        this.last = call
        calls.push(`${name} ${paramsIn(splice(call.frame.line, edits).joined)}`)
        if (missing !== '' && paramsIn(call.frame.line).includes(missing)) call.settle(notFound(call))
      },
      follow: ignore,
      setLogLevel: ignore,
      rootsChanged: ignore,
      setReading: ignore,
      takeSubscriptions: () => [],
      release: () => [],
      leave: () => undefined,
    }
  }

  start(): void {
    this.#come()
    this.#isListed = true
  }

  #come(): void {
    for (const kind of listKinds) this.#known.add(kind)
  }
}

const NONE: readonly never[] = []

/** The same array of names gives the same array of items, since routers compare lists by identity. */
const read = new WeakMap<readonly string[], ListItem[]>()

function itemsOf(kind: ListKind, names: readonly string[]): ListItem[] {
  const known = read.get(names)
  if (known !== undefined) return known
  const items = names.flatMap((name) => {
    const item = readListItem(Buffer.from(`{${quote(listShapes[kind].key)}:${quote(name)}}`), kind)
    return item === undefined ? [] : [item]
  })
  read.set(names, items)
  return items
}

function paramsIn(line: Uint8Array): string {
  return /"params":(.*)\}$/s.exec(Buffer.from(line).toString())?.[1] ?? ''
}

function notFound(call: Call): Outcome {
  const error = `{"jsonrpc":"2.0","id":${call.frame.id},"error":{"code":-32002,"message":"no"}}`
  const frame = errorOf(error)
  return { kind: 'answered', frame, edits: [], era: 'session' }
}
