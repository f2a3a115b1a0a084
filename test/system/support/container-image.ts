// An image for containers, made of programs of this host: nothing is fetched.

import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  realpathSync,
  rmSync,
  symlinkSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'

const programs = 'sh cat env find grep head id ls mkdir mkfifo rm seq setsid sleep tail touch tr wc'.split(
  ' ',
)

/** Imports an image by that name with sh, a few programs, Python and Node. */
export function makeImage(name: string, env: NodeJS.ProcessEnv): void {
  const folder = mkdtempSync(join(tmpdir(), 'mcps-image-'))
  try {
    for (const path of ['usr/bin', 'usr/lib', 'usr/lib64', 'etc', 'tmp', 'proc', 'sys', 'dev', 'workspace'])
      mkdirSync(join(folder, path), { recursive: true })
    chmodSync(join(folder, 'tmp'), 0o1777)
    for (const link of ['bin', 'lib', 'lib64']) symlinkSync(`usr/${link}`, join(folder, link))
    const files = [...programs.map((each) => `/usr/bin/${each}`), '/usr/bin/python3', process.execPath]
    for (const file of files) copy(file, join(folder, 'usr/bin', basename(file)))
    for (const library of new Set(files.flatMap(librariesOf))) copy(library, join(folder, library))
    copyPython(folder)
    const tar = execFileSync('tar', ['--create', '--directory', folder, '.'], { maxBuffer: 2 ** 30 })
    execFileSync('podman', ['import', '-', name], { input: tar, env, stdio: ['pipe', 'ignore', 'pipe'] })
  } finally {
    rmSync(folder, { recursive: true, force: true, maxRetries: 10 })
  }
}

function copyPython(folder: string): void {
  const prefix = execFileSync('/usr/bin/python3', ['-c', 'import os; print(os.path.dirname(os.__file__))'])
  const path = prefix.toString().trim()
  cpSync(path, join(folder, path), { recursive: true, filter: (each) => !each.includes('__pycache__') })
}

function copy(from: string, to: string): void {
  if (existsSync(to)) return
  mkdirSync(dirname(to), { recursive: true })
  cpSync(realpathSync(from), to)
}

function librariesOf(file: string): string[] {
  const listed = execFileSync('ldd', [file]).toString()
  const found = [...listed.matchAll(/(?:^|\s)(\/\S+)/gm)].map(([, path = '']) => path)
  assert(found.length > 0, listed)
  return found
}
