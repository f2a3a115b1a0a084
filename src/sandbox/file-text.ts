// The content of a file in a result.
//
// To write ten MiB as JSON takes a tenth of a second. The service writes one piece in each turn of its event loop, so that other
// calls go on, and writes the text once for all places in the result.

import { Buffer } from 'node:buffer'
import { StringDecoder } from 'node:string_decoder'
import { setImmediate } from 'node:timers/promises'
import { quote, write } from '../jsonrpc/text.js'
import { isText } from './files.js'

const PIECE_BYTES = 64 * 1024

/** Stands for the text in a value. No string can contain its JSON, in which a quote is not escaped. */
const placeholder = { 'text of the file': 0 } as const
const PLACEHOLDER: string = write(placeholder)

const QUOTE = Buffer.from('"')

export class FileText {
  readonly encoding: 'utf8' | 'base64'
  readonly #bytes: Buffer

  /** The content is shown as text where that is possible, and else in base64. */
  constructor(bytes: Buffer) {
    this.#bytes = bytes
    this.encoding = isText(bytes) ? 'utf8' : 'base64'
  }

  toJSON(): typeof placeholder {
    return placeholder
  }

  /** The JSON text of `value`, which contains this text any number of times, in parts. */
  async writeIn(value: unknown): Promise<readonly Uint8Array[]> {
    const text = await this.#written()
    const [first = '', ...others] = write(value).split(PLACEHOLDER)
    return [Buffer.from(first), ...others.flatMap((between) => [...text, Buffer.from(between)])]
  }

  /** The JSON text of the content. */
  async #written(): Promise<readonly Uint8Array[]> {
    const decoder = new StringDecoder(this.encoding)
    const parts: Uint8Array[] = [QUOTE]
    for (let at = 0; at < this.#bytes.length; at += PIECE_BYTES) {
      if (at > 0) await setImmediate()
      parts.push(inside(decoder.write(this.#bytes.subarray(at, at + PIECE_BYTES))))
    }
    return [...parts, inside(decoder.end()), QUOTE]
  }
}

/** The JSON text of a string without its quotes. */
function inside(text: string): Buffer {
  return Buffer.from(quote(text).slice(1, -1))
}
