// Loaded into a program before its own modules: says how much memory it holds once garbage is collected.
//
//   node --expose-gc --import ./memory-probe.js PROGRAM [ARG…]

/** What is freed in one collection may hold what the next one frees. */
const COLLECTIONS = 4

process.on('message', () => void tell())
// The program ends when it would end without this.
process.channel?.unref()

async function tell(): Promise<void> {
  for (let time = 0; time < COLLECTIONS; time++) {
    globalThis.gc?.()
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
  const { heapUsed, external } = process.memoryUsage()
  process.send?.(heapUsed + external)
}
