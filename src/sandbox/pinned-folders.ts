// Folders of sessions that outlive their service.
//
// A pin is a file beside the folder of a session, named like it. When the service ends, or is found dead, both move to
// the folder of pins; a service that attaches the pin moves both to its own. Whoever has the file has the pin. It moves
// last to the folder of pins and first from there, so that the next sweep completes a move that was broken off.

import { randomBytes } from 'node:crypto'
import { chmod, lstat, mkdir, readFile, readdir, rename, rm, writeFile } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { parse, write } from '../jsonrpc/text.js'
import type { FoundPin, Pin } from './runtime.js'

/** Where pins lie that no service has. */
const REST = 'pins'

const ENDING = '.pin'

/** Names as the state folder gives them. */
const keyPattern = /^[\da-f]{16}$/

/** The pins in a state folder; `own` is the name of this service in it. */
export class PinnedFolders {
  readonly #root: string
  readonly #own: string

  constructor(root: string, own: string) {
    this.#root = root
    this.#own = own
  }

  /** Those of all services, and those that lie there for anybody. */
  async list(): Promise<FoundPin[]> {
    const places = (await namesIn(this.#root)).filter((name) => name === REST || keyPattern.test(name))
    const found = await Promise.all(places.map((place) => this.#in(place)))
    return found.flat()
  }

  /** Pins the session whose folder this is, or gives its pin another name. */
  async add(folder: string, pin: Pin): Promise<void> {
    const path = `${folder}-${randomBytes(8).toString('hex')}`
    await writeFile(path, write(pin), { mode: 0o600, flag: 'wx' })
    await rename(path, `${folder}${ENDING}`)
  }

  /** The session of this folder is pinned no more. */
  async remove(folder: string): Promise<void> {
    await rm(`${folder}${ENDING}`, { force: true })
  }

  /** Moves what is pinned of a service to the folder of pins; false when something could not be moved. */
  async restAll(service: string): Promise<boolean> {
    const from = join(this.#root, service)
    const moves = (await keysIn(from)).map((key) => this.#rest(from, key))
    return (await Promise.all(moves)).every((isMoved) => isMoved)
  }

  /** The same of the session whose folder this is; false when it is not pinned. */
  async rest(folder: string): Promise<boolean> {
    if (!(await isThere(`${folder}${ENDING}`))) return false
    await this.#rest(dirname(folder), basename(folder))
    return true
  }

  /** Takes a pin that lies there; undefined when another service was faster. @throws when its files cannot be moved */
  async take(key: string): Promise<string | undefined> {
    const from = join(this.#root, REST)
    const to = join(this.#root, this.#own)
    if (!(await moved(join(from, `${key}${ENDING}`), join(to, `${key}${ENDING}`)))) return undefined
    if (await moved(join(from, key), join(to, key))) return join(to, key)
    throw new Error('its files are gone')
  }

  async #rest(from: string, key: string): Promise<boolean> {
    const to = join(this.#root, REST)
    const file = join(from, `${key}${ENDING}`)
    try {
      await mkdir(to, { recursive: true, mode: 0o700 })
      // Who has swept before may have come so far.
      const isMoved = (await moved(join(from, key), join(to, key))) || (await isThere(join(to, key)))
      await (isMoved ? moved(file, join(to, `${key}${ENDING}`)) : rm(file, { force: true }))
      return true
    } catch {
      return false
    }
  }

  async #in(place: string): Promise<FoundPin[]> {
    const folder = join(this.#root, place)
    const keys = await keysIn(folder)
    const pins = await Promise.all(keys.map((key) => pinIn(join(folder, `${key}${ENDING}`))))
    const holder = place === REST ? 'nobody' : place === this.#own ? 'us' : 'another'
    return pins.flatMap((pin, index) =>
      pin === undefined ? [] : [{ ...pin, key: keys[index] ?? '', holder }],
    )
  }
}

/** False when it is not there. A folder that is closed to its owner is opened: it cannot be moved as it is. */
async function moved(from: string, to: string): Promise<boolean> {
  try {
    await rename(from, to)
    return true
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return false
    if (codeOf(error) !== 'EACCES') throw error
    await chmod(from, 0o700)
    await rename(from, to)
    return true
  }
}

function codeOf(error: unknown): unknown {
  return error instanceof Error && 'code' in error ? error.code : undefined
}

async function keysIn(folder: string): Promise<string[]> {
  const names = (await namesIn(folder)).filter((name) => name.endsWith(ENDING))
  return names.map((name) => name.slice(0, -ENDING.length)).filter((key) => keyPattern.test(key))
}

async function namesIn(folder: string): Promise<string[]> {
  try {
    return await readdir(folder)
  } catch {
    return []
  }
}

async function isThere(path: string): Promise<boolean> {
  try {
    await lstat(path)
    return true
  } catch {
    return false
  }
}

/** Undefined when it cannot be read; another service may have moved it. */
async function pinIn(path: string): Promise<Pin | undefined> {
  try {
    const value: unknown = parse(await readFile(path, 'utf8'))
    const members: Readonly<Record<string, unknown>> = typeof value === 'object' ? { ...value } : {}
    const { sandbox, owner, name, template, flavor } = members
    if (typeof sandbox !== 'string' || typeof owner !== 'string' || typeof name !== 'string') return undefined
    if (typeof template !== 'string' || typeof flavor !== 'string') return undefined
    return { sandbox, owner, name, template, flavor }
  } catch {
    return undefined
  }
}
