// The child processes of this run, which a forced exit kills.

import type { Readable } from 'node:stream'
import type { Runtime } from '../index.js'
import { Deferred } from '../runtime/deferred.js'
import { isInstaller } from '../upstream/process/installers.js'

type Child = ReturnType<Runtime['spawn']>
type ChildExit = Awaited<Child['exited']>

interface Alive {
  readonly child: Child
  /** The signal that a forced exit sends to it. */
  readonly last: 'SIGTERM' | 'SIGKILL'
  /** From now on no signal reaches the child, and the first one makes it look as if it had ended; no other is started until then. */
  readonly release: () => void
}

/** Remembers the children that are alive. */
export class Children {
  readonly #alive = new Set<Alive>()

  /** The same runtime, whose children are remembered here. */
  watch(runtime: Runtime): Runtime {
    return {
      ...runtime,
      spawn: (spec) => {
        const child = runtime.spawn(spec)
        let isReleased = false
        const released = new Deferred<ChildExit>()
        const release = (): void => {
          isReleased = true
          child.release?.()
        }
        // Killed in an install, npm leaves a lock that the next `npx` waits for, up to a minute. The guardian ends what resists.
        const last = isInstaller(spec.command, spec.args) ? 'SIGTERM' : 'SIGKILL'
        const alive: Alive = { child, last, release }
        this.#alive.add(alive)
        void child.exited.then(() => this.#alive.delete(alive))
        return {
          ...child,
          // The end of a child that was left to itself is no failure, after which another would be started.
          exited: Promise.race([
            released.promise,
            child.exited.then((exit) => (isReleased ? released.promise : exit)),
          ]),
          signal: (name) => {
            if (!isReleased) return child.signal(name)
            released.resolve({ code: undefined, signal: name, spawnError: undefined })
            return true
          },
        }
      },
    }
  }

  /** Leaves a child to itself, at the end of its stdin; gives the streams, which must be read. Undefined for an unknown child. */
  release(pid: number): readonly Readable[] | undefined {
    for (const alive of this.#alive) {
      const { child } = alive
      if (child.pid !== pid || child.release === undefined) continue
      this.#alive.delete(alive)
      child.stdin.end()
      alive.release()
      return [child.stdout, child.stderr]
    }
    return undefined
  }

  /** Ends every child, with its process group and the processes that have left it. */
  kill(): void {
    for (const { child, last } of this.#alive) {
      try {
        child.surveyNow?.()
      } catch {
        // Without descriptors the processes cannot be searched, and nothing may stand between the children and their end.
      }
      child.signal(last)
    }
  }
}
