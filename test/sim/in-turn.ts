// A turn of the real event loop for one simulation.

/**
 * Runs something in a turn of its own and gives what it gives.
 *
 * Promises are run from within it, which Node only does when it is not running promises already.
 */
export function inTurn<T>(run: () => T): Promise<T> {
  return new Promise((resolve, reject) => {
    setImmediate(() => {
      try {
        resolve(run())
      } catch (error) {
        reject(error)
      }
    })
  })
}
