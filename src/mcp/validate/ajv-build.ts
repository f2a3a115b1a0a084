// ajv, loaded when the first schema needs it, in pieces.
//
// The package has some sixty modules and takes longer to load than anything may
// block. Its inner modules are asked for first, with a turn of the event loop
// after each, so that its entry finds them there.

import type { Ajv, Options, _ } from 'ajv'
import type { Dialect } from './schema-keywords.js'

/** One of ajv's builds, and the template tag with which keywords write code. */
export interface AjvBuild {
  readonly Ajv: new (options: Options) => Ajv
  readonly code: typeof _
}

const pieces: readonly (() => Promise<unknown>)[] = [
  () => import('ajv/dist/compile/codegen/index.js'),
  () => import('ajv/dist/runtime/uri.js'),
  () => import('ajv/dist/compile/errors.js'),
  () => import('ajv/dist/compile/validate/index.js'),
  () => import('ajv/dist/core.js'),
  () => import('ajv/dist/vocabularies/validation/index.js'),
  () => import('ajv/dist/vocabularies/applicator/index.js'),
  () => import('ajv/dist/vocabularies/draft7.js'),
]

const entries: Readonly<Record<Dialect, () => Promise<AjvBuild>>> = {
  'draft-07': async () => {
    const build = await import('ajv')
    return { Ajv: build.Ajv, code: build._ }
  },
  '2019-09': async () => {
    const build = await import('ajv/dist/2019.js')
    return { Ajv: build.Ajv2019, code: build._ }
  },
  '2020-12': async () => {
    const build = await import('ajv/dist/2020.js')
    return { Ajv: build.Ajv2020, code: build._ }
  },
}

/** Loads once in a process, however often it is called, since modules are. Returns in a turn of its own. */
export async function loadAjv(dialect: Dialect): Promise<AjvBuild> {
  for (const load of pieces) {
    await load()
    await nextTurn()
  }
  const build = await entries[dialect]()
  await nextTurn()
  return build
}

/** After the input and output that waits now has been handled. */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve)
  })
}
