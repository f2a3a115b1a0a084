// The memory of a long message, given back as soon as nobody needs it.
//
// What is read lies outside the heap, where only a collection of the whole heap finds it once it has become old, and a
// message of some megabytes nearly always becomes old while it passes. So whoever still needs its bytes is counted.
// Where that is not known to the last, somebody is never done, and the memory is the collector's as any other.

/** Memory in which nothing lies but parts of one message. */
export class MessageMemory {
  readonly #free: () => void
  /** The first is who was given the message. */
  #users = 1

  /** `free` is called once; nobody may read the memory afterwards. */
  constructor(free: () => void) {
    this.#free = free
  }

  /** One more needs it, and will be `done`. */
  use(): void {
    this.#users++
  }

  done(): void {
    this.#users--
    if (this.#users === 0) this.#free()
  }
}
