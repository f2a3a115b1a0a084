// Files in memory, which have so many bytes together and no more.
//
// The file system of the package makes an array of its own for each write, as long as the program inside says. Here files
// grow within arrays that were counted first.

import { Directory, type Fd, File, OpenFile, wasi } from '@bjorn3/browser_wasi_shim'

/** A file has room for its next writes, so that it is not copied by each. */
const GROWTH = 2

/** All files of one program. */
export class BoundedFiles {
  readonly #root: Directory
  readonly #bytesMax: number
  readonly #known = new WeakSet<OpenFile>()
  readonly #open: () => readonly (Fd | undefined)[]
  /** What was given since it was last counted; what was given back since then is still in it. */
  #granted = 0

  constructor(root: Directory, bytesMax: number, open: () => readonly (Fd | undefined)[]) {
    this.#root = root
    this.#bytesMax = bytesMax
    this.#open = open
  }

  /** Counts what is written from now on. */
  bind(opened: OpenFile): void {
    if (this.#known.has(opened)) return
    this.#known.add(opened)
    const { file } = opened
    const write = (data: Uint8Array, at: bigint): { ret: number; nwritten: number } => {
      const end = Number(at) + data.length
      if (end > file.data.length && !this.#resize(file, end)) return { ret: wasi.ERRNO_NOSPC, nwritten: 0 }
      file.data.set(data, Number(at))
      return { ret: wasi.ERRNO_SUCCESS, nwritten: data.length }
    }
    const size = (bytes: bigint): number =>
      this.#resize(file, Number(bytes)) ? wasi.ERRNO_SUCCESS : wasi.ERRNO_NOSPC
    opened.fd_pwrite = write
    opened.fd_write = (data) => {
      const written = write(data, opened.file_pos)
      opened.file_pos += BigInt(written.nwritten)
      return written
    }
    opened.fd_filestat_set_size = size
    opened.fd_allocate = (offset, length) =>
      offset + length <= file.size ? wasi.ERRNO_SUCCESS : size(offset + length)
  }

  #resize(file: File, bytes: number): boolean {
    const before = file.data.length
    if (bytes < before) {
      file.data = file.data.slice(0, bytes)
      return true
    }
    const room = file.data.buffer
    if (bytes > room.byteLength) {
      const more = this.#grown(bytes, room.byteLength * GROWTH)
      if (more === undefined) return false
      more.set(file.data)
      file.data = more.subarray(0, bytes)
      return true
    }
    file.data = new Uint8Array(room, 0, bytes).fill(0, before)
    return true
  }

  #grown(least: number, wanted: number): Uint8Array | undefined {
    const bytes = [Math.max(least, wanted), least].find((each) => this.#take(each))
    return bytes === undefined ? undefined : new Uint8Array(bytes)
  }

  #take(bytes: number): boolean {
    if (this.#granted + bytes > this.#bytesMax) this.#granted = this.#count()
    if (this.#granted + bytes > this.#bytesMax) return false
    this.#granted += bytes
    return true
  }

  #count(): number {
    const files = new Set<File>()
    const folders: Directory[] = [this.#root]
    for (const folder of folders) {
      for (const entry of folder.contents.values()) {
        if (entry instanceof Directory) folders.push(entry)
        else if (entry instanceof File) files.add(entry)
      }
    }
    for (const fd of this.#open()) if (fd instanceof OpenFile) files.add(fd.file)
    return [...files].reduce((sum, { data }) => sum + data.buffer.byteLength, 0)
  }
}
