// Calls of every kind that are in flight when something ends: quick, slow, large, and such as never end.

import { type Heard, type RawClient, failure, isAnswer } from './client.js'
import { at } from './json.js'

/** The tool of `it-server.mjs` and its arguments for a call, by its number. */
function mixedCall(index: number): { readonly tool: string; readonly args: unknown } {
  switch (index % 5) {
    case 0:
      return { tool: 'never', args: {} }
    case 1:
      return { tool: 'slow', args: { steps: 2, everyMs: 20 * index } }
    case 2:
      return { tool: 'big', args: { n: '', bytes: 20_000 } }
    default:
      return { tool: 'turn', args: { n: String(index), ticks: index } }
  }
}

const idOf = (index: number): string => `call-${index}`

/** Starts so many of the calls to the server `s`. */
export function startMixedCalls(client: RawClient, count: number): void {
  for (let index = 0; index < count; index++) {
    const { tool, args } = mixedCall(index)
    client.call(`s__${tool}`, args, { progressToken: index }, idOf(index)).catch(() => undefined)
  }
}

/** The faults of the answers: each call must have one, with its result or the reason of its failure. */
export function wrongAnswers(client: RawClient, count: number): string[] {
  return Array.from({ length: count }, (_, index) => index).flatMap((index) => {
    const answers = client.heard.filter((heard) => isAnswer(heard, idOf(index)))
    const [answer] = answers
    if (answer === undefined || answers.length > 1) return [`call ${index} has ${answers.length} answers`]
    return isRight(answer, index) ? [] : [`call ${index}: ${answer.text.slice(0, 200)}`]
  })
}

function isRight(answer: Heard, index: number): boolean {
  if (at(answer.value, 'result') !== undefined) return mixedCall(index).tool !== 'never'
  const [code, , reason] = failure(answer)
  return code === -32603 && reason === 'shutting-down'
}
