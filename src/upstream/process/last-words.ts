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
  // Many programs begin with their name.
  /^(?:[\w./-]+: )?(?:fatal error|error|fatal|panic)(?:\[\w+\])?: \S/i,
]

/** Every line of npm's begins so, and the first ones say what is wrong. */
const npm = /^npm (?:error|ERR!) \S/

/** Of these, the ones that a person understands alone. */
const plainNpm =
  /is not in this registry|could not be found|No matching version|failed, reason:|Lock compromised/

/** A program that was not installed as a whole. */
const missingModule = /Cannot find (?:module|package) /
const npxFolder = /(?:\/|[A-Za-z]:\\)[^\s'"]*[/\\]_npx[/\\][0-9a-f]+/

/** Rust says where, and what on the next line. */
const panicked = /^thread '.*' \S*\s*panicked at /

/** A frame of a stack, the last line of Node, an example behind a mistake, and marks without a word. */
const noise = /^\s+at \S|^Node\.js v\d|^For example: |^[^\p{L}\p{N}]*$/u

/** The lines of one program on stderr. */
export class LastWords {
  readonly #lines: string[] = []

  add(line: string): void {
    this.#lines.push(line)
    if (this.#lines.length > KEPT_MAX) this.#lines.shift()
  }

  /** The lines that name the error; empty where none does. */
  get error(): readonly string[] {
    const lines = this.#lines
    const error = lines.findLast((line) => errors.some((each) => each.test(line)))
    if (error !== undefined) return [error]
    const panic = lines.findLastIndex((line) => panicked.test(line))
    if (panic >= 0) return lines.slice(panic, panic + 2)
    const ofNpm = lines.filter((line) => npm.test(line))
    const said = ofNpm.find((line) => plainNpm.test(line)) ?? ofNpm[1] ?? ofNpm[0]
    return said === undefined ? [] : [said]
  }

  /** The folder to remove where `npx` runs a package that npm has not installed as a whole. */
  get damagedFolder(): string | undefined {
    const at = this.#lines.findLastIndex((line) => missingModule.test(line))
    if (at < 0) return undefined
    for (const line of this.#lines.slice(at)) {
      const [folder] = npxFolder.exec(line) ?? []
      if (folder !== undefined) return folder
    }
    return undefined
  }

  /** The same; the last lines where none names an error. */
  get lines(): readonly string[] {
    const { error } = this
    return error.length > 0 ? error : this.#lines.filter((line) => !noise.test(line)).slice(-SHOWN_MAX)
  }
}
