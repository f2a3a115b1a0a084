// Stack traces on the stderr of one server: each of their lines is logged once, whichever process of it says it again.

/** A frame of JavaScript and of Java, and one of Python. */
const frame = /^\s+at \S|^\s+File ".*", line \d+/

/** What stands below a frame: the source line of Python, members of an error of Node. */
const indented = /^\s+\S/

/** Lines that are remembered; the oldest make room. */
const linesMax = 1000

/** Longer ones are not remembered. */
const lineLengthMax = 500

/** Remembers the lines of stack traces. */
export class StackTraces {
  readonly #known = new Set<string>()

  /** Whether the line belongs to a stack trace; `follows` says that the line before it does. */
  has(line: string, follows: boolean): boolean {
    return frame.test(line) || (follows && indented.test(line))
  }

  /** Whether this line of a stack trace was there before. */
  isKnown(line: string): boolean {
    if (this.#known.has(line)) return true
    if (line.length > lineLengthMax) return false
    this.#known.add(line)
    for (const oldest of this.#known) {
      if (this.#known.size <= linesMax) break
      this.#known.delete(oldest)
    }
    return false
  }
}
