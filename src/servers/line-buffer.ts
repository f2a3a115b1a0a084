/** Characters that are kept of one line; a call of this server needs a few hundred. */
export const lineCharsMax: number = 1024 * 1024

/**
 * Cuts text into lines as it arrives.
 *
 * Of a line over `lineCharsMax` only the beginning is kept: the rest of it could not be a call
 * that the server understands, and its beginning is answered as a syntax error.
 */
export class LineBuffer {
  #rest = ''

  /** The lines that the chunk completes, without their line ends. */
  push(chunk: string): readonly string[] {
    const [first = '', ...others] = chunk.split('\n')
    this.#rest = (this.#rest + first).slice(0, lineCharsMax)
    return others.map((next) => {
      const line = this.#rest
      this.#rest = next.slice(0, lineCharsMax)
      return line
    })
  }

  /** The unfinished line at the end of the text, which the buffer forgets. */
  end(): string {
    const line = this.#rest
    this.#rest = ''
    return line
  }
}
