// The addresses of the running inspectors. Each contains a key, so its file is readable only for its owner.

import { existsSync, mkdirSync, readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import process from 'node:process'
import { signalProcess } from '../runtime/process-table.js'
import { readTextFile } from '../runtime/read-file.js'
import { replaceFile } from '../runtime/write-file.js'

const ADDRESS_BYTES_MAX = 4096

/** Keeps the address of this process in `folder`; the returned function removes it. @throws the system's error */
export function keepAddress(folder: string, address: string): () => void {
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  const path = join(folder, String(process.pid))
  replaceFile(path, address, 0o600)
  return () => rmSync(path, { force: true })
}

/** Returns the addresses of running processes, and removes the files of all others. */
export function keptAddresses(folder: string): string[] {
  return (existsSync(folder) ? readdirSync(folder) : []).flatMap((name) => {
    const path = join(folder, name)
    if (!signalProcess(Number(name), 0)) rmSync(path, { force: true })
    const file = readTextFile(path, ADDRESS_BYTES_MAX)
    return file.kind === 'read' ? [file.text] : []
  })
}
