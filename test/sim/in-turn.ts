/** A simulation runs promise jobs itself, which Node allows only while none is running. */
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
