// Whether a call to a server can begin a task.

import { TASKS } from '../../mcp/extensions.js'
import type { CallTarget } from '../../upstream/contracts/upstream.js'

/** What a server has said of itself. */
interface Described {
  readonly view: Pick<CallTarget['view'], 'facts'>
}

export function offersTasks({ keepsTasks, view }: CallTarget): boolean {
  return keepsTasks && view.facts?.capabilities.tasks !== undefined
}

/** The same by the extension, in which the server decides which call goes on as a task. */
export function relaysTasks({ view: { facts } }: Described): boolean {
  return facts?.revision.form === 'typed' && facts.capabilities.extensions.has(TASKS)
}
