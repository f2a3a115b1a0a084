// A text that is looked for at one place of each message.
//
// Eight bytes are compared at a time, as one number: the engine's own comparison takes longer to look at its arguments
// than to compare the one or two hundred bytes that such a text has.

const NUMBER_BYTES = 8

/** Compares one text, which is JSON. */
export class ComparedText {
  readonly #text: Buffer
  /**
   * All of it but the few bytes at the end.
   *
   * Only zeros are equal in other bytes, and only what is no number differs from itself: in UTF-8 without control
   * characters there is neither.
   */
  readonly #numbers: Float64Array
  /** Of the memory in which the latest message lies, which is not held for it: those that came with one read have it in common. */
  #view: WeakRef<DataView> | undefined

  constructor(text: Buffer) {
    const view = new DataView(text.buffer, text.byteOffset, text.length)
    this.#text = text
    this.#numbers = new Float64Array(Math.floor(text.length / NUMBER_BYTES))
    for (let i = 0; i < this.#numbers.length; i++) this.#numbers[i] = view.getFloat64(i * NUMBER_BYTES, true)
  }

  /** Whether the part of it from `from` to `end` stands in these bytes, of which there are enough, at `start`. */
  isAt(bytes: Buffer, start: number, from = 0, end: number = this.#text.length): boolean {
    const text = this.#text
    const ahead = start - from
    let i = from
    for (; i < end && i % NUMBER_BYTES !== 0; i++) if (bytes[ahead + i] !== text[i]) return false
    const view = this.#viewOf(bytes)
    const numbers = this.#numbers
    const base = bytes.byteOffset + ahead
    for (; i + NUMBER_BYTES <= end; i += NUMBER_BYTES)
      if (view.getFloat64(base + i, true) !== numbers[i / NUMBER_BYTES]) return false
    for (; i < end; i++) if (bytes[ahead + i] !== text[i]) return false
    return true
  }

  #viewOf({ buffer }: Buffer): DataView {
    const known = this.#view?.deref()
    if (known?.buffer === buffer) return known
    const view = new DataView(buffer)
    this.#view = new WeakRef(view)
    return view
  }
}
