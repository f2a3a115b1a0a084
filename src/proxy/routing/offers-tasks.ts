// Whether a call to a server can begin a task.

import type { CallTarget } from '../../upstream/contracts/upstream.js'

export function offersTasks({ keepsTasks, view }: CallTarget): boolean {
  return keepsTasks && view.facts?.capabilities.tasks !== undefined
}
