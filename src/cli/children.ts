// The child processes of this run, which a forced exit kills at once.

import type { Runtime } from '../index.js'

type Child = ReturnType<Runtime['spawn']>

/** Remembers the children that are alive. */
export class Children {
  readonly #alive = new Set<Child>()

  /** The same runtime, whose children are remembered here. */
  watch(runtime: Runtime): Runtime {
    return {
      ...runtime,
      spawn: (spec) => {
        const child = runtime.spawn(spec)
        this.#alive.add(child)
        void child.exited.then(() => this.#alive.delete(child))
        return child
      },
    }
  }

  /** Ends every child at once, with its process group and those who have left it. */
  kill(): void {
    for (const child of this.#alive) {
      try {
        child.surveyNow?.()
      } catch {
        // Without descriptors nobody can be looked for, and nothing may stand between the children and their end.
      }
      child.signal('SIGKILL')
    }
  }
}
