// A copy of the compiled proxy and its simulator, in which one mutation at a time
// is made.

import { spawn } from 'node:child_process'
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { RunKind } from './draw-kind.js'
import type { Mutation, Replacement } from './mutations/mutation.js'

/** Where the compiled tree is: `build`. */
const compiled: string = fileURLToPath(new URL('../..', import.meta.url))

/** How a mutant ended. */
export interface Hunt {
  readonly isFound: boolean
  /** What was found where, or what went wrong. */
  readonly said: string
}

/** A folder of its own for mutants. */
export class MutantFarm {
  readonly #folder: string

  constructor() {
    this.#folder = mkdtempSync(join(tmpdir(), 'mcps-proxy-mutants-'))
    for (const part of ['src', 'test/sim', 'test/faults', 'test/kept/support'])
      cpSync(join(compiled, part), join(this.#folder, 'build', part), { recursive: true })
    writeFileSync(join(this.#folder, 'package.json'), '{"type":"module"}')
    symlinkSync(join(compiled, '../node_modules'), join(this.#folder, 'node_modules'))
  }

  /** Makes a mutation, looks for what it does with so many seeds, and takes it back. */
  async hunt(mutation: Mutation, seeds: number): Promise<Hunt> {
    const files = new Set(mutation.replacements.map(({ file }) => file))
    for (const replacement of mutation.replacements) this.#replace(replacement)
    try {
      // Only clients over HTTP find what is wrong about them.
      const isFront = mutation.replacements.some(({ file }) => file.includes('http-server'))
      const kind: RunKind = mutation.kind ?? (isFront ? 'http' : 'plain')
      return await this.#run([String(seeds), kind, ...mutation.finds])
    } finally {
      for (const file of files) cpSync(sourceOf(compiled, file), this.#sourceOf(file))
    }
  }

  close(): void {
    rmSync(this.#folder, { recursive: true, force: true })
  }

  #sourceOf(file: string): string {
    return sourceOf(join(this.#folder, 'build'), file)
  }

  #replace({ file, find, put }: Replacement): void {
    const path = this.#sourceOf(file)
    writeFileSync(
      path,
      readFileSync(path, 'utf8').replace(find, () => put),
    )
  }

  #run(args: readonly string[]): Promise<Hunt> {
    const child = spawn(process.execPath, [join(this.#folder, 'build/test/sim/mutant.js'), ...args])
    let said = ''
    const take = (chunk: Buffer): void => {
      said += chunk.toString()
    }
    child.stdout.on('data', take)
    child.stderr.on('data', take)
    return new Promise((resolve) => {
      child.on('close', (code) => resolve({ isFound: code === 0, said: said.trim() }))
    })
  }
}

/** How often a text stands in a compiled file: a mutation must know which place it means. */
export function occurrences({ file, find }: Replacement): number {
  return readFileSync(sourceOf(compiled, file), 'utf8').split(find).length - 1
}

function sourceOf(build: string, file: string): string {
  return join(build, 'src', `${file}.js`)
}
