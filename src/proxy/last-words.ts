// Why a program failed, as it said on stderr: the line that names the error, which is often not among the last.
//
// Node writes the version and a stack behind the error, npm the place of its log, and Python the error last of all.

/** Lines in which the error is looked for. */
const KEPT_MAX = 200

/** Lines that are shown. */
const SHOWN_MAX = 3

/** How errors begin: each is the start of a line, since what is indented belongs to the error above. */
const errors: readonly RegExp[] = [
  // The type of an error of JavaScript, Python, Java or .NET.
  /^(?:Uncaught |Unhandled exception[.:] |Exception in thread "[^"]*" )?(?:[\w$]+[./:]+)*[\w$]*(?:Error|Exception)(?: \[\w+\])?: \S/,
  /^\[UnhandledPromiseRejection: /,
  // What programs say of themselves, after their name perhaps.
  /^(?:[\w./-]+: )?(?:fatal error|error|fatal|panic)(?:\[\w+\])?: \S/i,
]

/** Every line of npm's begins so, and the first ones say what is wrong. */
const npm = /^npm (?:error|ERR!) \S/

/** Rust says where, and what on the next line. */
const panicked = /^thread '.*' \S*\s*panicked at /

/** A frame of a stack, the last line of Node, and marks without a word. */
const noise = /^\s+at \S|^Node\.js v\d|^[^\p{L}\p{N}]*$/u

/** What one program says on stderr. */
export class LastWords {
  readonly #lines: string[] = []

  add(line: string): void {
    this.#lines.push(line)
    if (this.#lines.length > KEPT_MAX) this.#lines.shift()
  }

  /** The lines that say why it failed; its last ones where none does. */
  get lines(): readonly string[] {
    const lines = this.#lines
    const at = lines.findLastIndex((line) => errors.some((error) => error.test(line)))
    if (at >= 0) return lines.slice(at, at + 1)
    const panic = lines.findLastIndex((line) => panicked.test(line))
    if (panic >= 0) return lines.slice(panic, panic + 2)
    const ofNpm = lines.filter((line) => npm.test(line))
    if (ofNpm.length > 0) return ofNpm.slice(0, SHOWN_MAX)
    return lines.filter((line) => !noise.test(line)).slice(-SHOWN_MAX)
  }
}
