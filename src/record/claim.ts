// Which file a recording goes to: of several processes that were given one name, each writes a file of its own.
//
// Node has no locks for files, so a file beside the recording names the process that writes it. One that was killed
// leaves its mark behind, which the next one finds and takes away.

import { readFileSync, renameSync, unlinkSync, writeFileSync } from 'node:fs'
import { hostname } from 'node:os'
import { parse, join } from 'node:path'
import process from 'node:process'
import { isPidFree } from '../runtime/process-table.js'

/** Names that are tried for one process. */
const NAMES_MAX = 100

/** A file that no other process records to. */
export interface Claim {
  readonly file: string
  /** Others may record there from now on. */
  release(): void
}

/** The file itself, or one whose name has the number of this process too. @throws Error when all of them are in use */
export function claimFile(file: string): Claim {
  const mark = `${process.pid} ${Math.round(performance.timeOrigin)} ${hostname()}\n`
  for (let count = 0; count < NAMES_MAX; count++) {
    const name = nameOf(file, count)
    const lock = `${name}.lock`
    if (isTaken(lock, mark)) continue
    return { file: name, release: () => release(lock, mark) }
  }
  throw new Error(`other processes record to it, and to ${NAMES_MAX - 1} files with names like it`)
}

/** `a.jsonl`, `a-4711.jsonl`, `a-4711-2.jsonl`. */
function nameOf(file: string, count: number): string {
  if (count === 0) return file
  const { dir, name, ext } = parse(file)
  const number = count === 1 ? '' : `-${count}`
  return join(dir, `${name}-${process.pid}${number}${ext}`)
}

/** Whether somebody else has it; else it is ours now. */
function isTaken(lock: string, mark: string): boolean {
  try {
    writeFileSync(lock, mark, { flag: 'wx', mode: 0o600 })
    return false
  } catch (error) {
    // Where nothing can be created there is nobody to be told from others; opening the recording says what is wrong.
    if (codeOf(error) !== 'EEXIST') return false
    return !removeStale(lock, mark) || isTaken(lock, mark)
  }
}

/** Takes away the mark of a process that has ended; false where it may run. */
function removeStale(lock: string, mark: string): boolean {
  const found = contentOf(lock)
  if (found === undefined) return true
  if (mayRun(found, mark)) return false
  const aside = `${lock}.${process.pid}`
  try {
    renameSync(lock, aside)
    // Somebody was faster, and has put a mark of its own there.
    if (contentOf(aside) !== found) renameSync(aside, lock)
    else unlinkSync(aside)
  } catch {
    return contentOf(lock) === undefined
  }
  return contentOf(lock) === undefined
}

/** Of another machine nobody can tell. */
function mayRun(found: string, mark: string): boolean {
  const [pid, , host] = found.trimEnd().split(' ')
  if (host !== hostname()) return true
  if (pid === String(process.pid)) return found === mark
  return !isPidFree(Number(pid))
}

function release(lock: string, mark: string): void {
  if (contentOf(lock) !== mark) return
  try {
    unlinkSync(lock)
  } catch {
    // It says nothing once this process has ended.
  }
}

function contentOf(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return undefined
  }
}

function codeOf(error: unknown): unknown {
  return error instanceof Error && 'code' in error ? error.code : undefined
}
