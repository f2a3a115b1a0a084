// What is said of a name that no server lists, or not the one that it was for.

import type { Call } from '../../mcp/call.js'
import { inputRefused, promptNotFound, toolNotFound } from '../../mcp/error-codes.js'
import { failToolCall } from '../../mcp/tool-failure.js'
import { nearest } from '../../text/nearest.js'
import type { CallTarget } from '../../upstream/contracts/upstream.js'
import type { Target } from './catalog.js'
import { isDown, unavailable } from './down.js'
import { mayHave } from './name-waits.js'

const NEAREST_MAX = 3

/** Fails a call: the server that may have the name is down, or the error names those of `shown` that are like it. */
export function failUnknownName(
  call: Call,
  { kind, name }: { readonly kind: 'tools' | 'prompts'; readonly name: string },
  lanes: readonly CallTarget[],
  shown: readonly Target[],
): void {
  const down = lanes.find((lane) => isDown(lane, kind) && mayHave(lane, name))
  if (down !== undefined) {
    call.service = down.config.name
    return call.fail(down.view.failure?.body ?? unavailable(down))
  }
  const names = shown.map(({ publicName }) => publicName)
  const near = nearest(name, names, NEAREST_MAX)
  call.fail(kind === 'tools' ? toolNotFound(name, near) : promptNotFound(name, near))
}

/** Fails a call that goes on with what a server has asked, where that server is there no more. */
export function failBound(call: Call, service: string): void {
  failToolCall(call, inputRefused(service, 'another server has taken its place since'))
}
