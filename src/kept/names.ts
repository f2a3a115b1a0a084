// The names of kept files.
//
// A name says nothing to who does not have the key: neither where the configuration lies, nor what its servers are
// called, nor any of their values, which may be tokens short enough to be guessed.

import { createHmac } from 'node:crypto'
import { write } from '../jsonrpc/text.js'
import type { KeptFiles } from '../runtime/runtime.js'
import type { ServerConfig } from '../upstream/contracts/server-config.js'
import type { Seal } from './format.js'
import { identityOf } from './identity.js'

/** The secret key from which names and checksums are computed. */
export const KEY_FILE = 'key'
export const KEY_BYTES = 32

/** The names of a configuration; undefined as long as nothing was ever kept. */
export function readNames(files: KeptFiles, source: string): KeptNames | undefined {
  const key = files.read(KEY_FILE, KEY_BYTES)?.bytes
  return key?.length === KEY_BYTES ? new KeptNames(key, source) : undefined
}

/** The parts of the name of a kept file. */
export interface KeptName {
  /** The configuration that it belongs to. */
  readonly owner: string
  /** One of its servers by name, whatever the values of that were. */
  readonly server: string
}

/** Enough that no two of the files of one folder have the same name. */
const OWNER_DIGITS = 20
const SERVER_DIGITS = 20
const VALUES_DIGITS = 32

const pattern = /^([0-9a-f]{20})-([0-9a-f]{20})-[0-9a-f]{32}\.kept$/

/** Undefined for a file that is none of ours. */
export function readKeptName(file: string): KeptName | undefined {
  const [, owner, server] = pattern.exec(file) ?? []
  return owner === undefined || server === undefined ? undefined : { owner, server }
}

/** The names of what is kept for the servers of one configuration. */
export class KeptNames {
  readonly owner: string
  readonly #key: Uint8Array
  readonly #source: string

  /** `source` is the absolute path of the configuration. */
  constructor(key: Uint8Array, source: string) {
    this.#key = key
    this.#source = source
    this.owner = this.#digits('owner', [source], OWNER_DIGITS)
  }

  /** What stands for the name of a server. */
  server(name: string): string {
    return this.#digits('server', [this.#source, name], SERVER_DIGITS)
  }

  file(config: ServerConfig): string {
    const values = this.#digits('values', [this.#source, identityOf(config)], VALUES_DIGITS)
    return `${this.owner}-${this.server(config.name)}-${values}.kept`
  }

  /** The checksums of that file; under another name, or with another key, they are wrong. */
  seal(file: string): Seal {
    return (content) => this.#hmac('content', [file]).update(content).digest('hex')
  }

  #digits(purpose: string, texts: readonly string[], digits: number): string {
    return this.#hmac(purpose, texts).digest('hex').slice(0, digits)
  }

  #hmac(purpose: string, texts: readonly string[]): ReturnType<typeof createHmac> {
    return createHmac('sha256', this.#key).update(write([purpose, ...texts]))
  }
}
