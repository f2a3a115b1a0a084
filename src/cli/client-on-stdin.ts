// Tells a person on stderr when a client writes to the stdin of a command that was started without
// `--stdio`.

import process from 'node:process'

/** As much as shows what somebody speaks. */
const lookedAtBytesMax = 256

/** Warns once when JSON-RPC arrives on stdin, which is not read in this mode. */
export function tellClientOnStdin(program: string): void {
  const { stdin } = process
  if (stdin.isTTY) return
  const look = (chunk: Buffer | string): void => {
    const begins = chunk.slice(0, lookedAtBytesMax).toString().trimStart()
    stop()
    if (!/^(?:\[\s*)?\{\s*"/.test(begins)) return
    process.stderr.write(
      `${program}: a client speaks on stdin, and nobody listens there: without a mode this serves HTTP; ` +
        `add --stdio to its arguments, for example: ${program} --stdio\n`,
    )
  }
  const stop = (): void => {
    stdin.off('data', look)
    stdin.pause()
  }
  stdin.on('error', stop)
  stdin.on('data', look)
  // A file has nothing to let go of, whatever the types say.
  if ('unref' in stdin && typeof stdin.unref === 'function') stdin.unref()
}
