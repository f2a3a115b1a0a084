// What the client says before the proxy is loaded.
//
// Servers are started for it at once. But a client that does not know which revisions we speak may ask that of a process
// which it ends as soon as it has the answer, and no server is to be started for that.

const QUESTION = '"server/discover"'

/** Looks at the first bytes of an input that nobody reads yet, and leaves them there. */
export class FirstWords {
  readonly #input: NodeJS.ReadableStream
  readonly #wanted: () => void

  /** `wanted` is called when they are of a client that will need servers. */
  constructor(input: NodeJS.ReadableStream, wanted: () => void) {
    this.#input = input
    this.#wanted = wanted
    // Whoever reads the input finds out that it has failed.
    input.on('error', nothing)
    input.once('readable', this.#look)
  }

  /** Resolves when those have been looked at that had come before. */
  async here(): Promise<void> {
    // The system is asked between two turns, and is not told before the first that anybody wants to read.
    for (let turns = 0; turns < 2; turns++) await new Promise(setImmediate)
  }

  /** Somebody else reads from now on. */
  stop(): void {
    this.#input.off('readable', this.#look)
  }

  readonly #look = (): void => {
    const bytes: unknown = this.#input.read()
    // It has ended.
    if (!Buffer.isBuffer(bytes)) return
    this.#input.unshift(bytes)
    if (!asksOnly(bytes.toString('latin1'))) this.#wanted()
  }
}

/** Whether each message is the question; a wrong guess costs a moment, or a start that nobody needed. */
function asksOnly(text: string): boolean {
  return text
    .trim()
    .split('\n')
    .every((line) => line.includes(QUESTION))
}

function nothing(): void {}
