// ajv's builds. They stand in the program itself, so that no file is opened for them later, and are evaluated when the
// first schema needs one: a start does not wait for sixty modules.

import type { Ajv, Options, _ } from 'ajv'
import type { Dialect } from './schema-keywords.js'

/** One of ajv's builds, and the template tag with which keywords write code. */
export interface AjvBuild {
  readonly Ajv: new (options: Options) => Ajv
  readonly code: typeof _
}

const builds: Readonly<Record<Dialect, () => unknown>> = {
  'draft-07': () => requireLate('ajv'),
  '2019-09': () => requireLate('ajv/dist/2019.js'),
  '2020-12': () => requireLate('ajv/dist/2020.js'),
}

export function ajvBuild(dialect: Dialect): AjvBuild {
  const build = builds[dialect]()
  if (isAjvModule(build)) return { Ajv: build.default, code: build._ }
  throw new TypeError('the package ajv has no such build')
}

/** `scripts/build.mjs` bundles the package in the place of each call. */
function requireLate(path: string): unknown {
  // oxlint-disable-next-line no-restricted-globals -- this loads code, and nothing else.
  const { createRequire } = process.getBuiltinModule('node:module')
  const load: (path: string) => unknown = createRequire(import.meta.url)
  return load(path)
}

interface AjvModule {
  readonly default: AjvBuild['Ajv']
  readonly _: AjvBuild['code']
}

function isAjvModule(value: unknown): value is AjvModule {
  return typeof value === 'function' && 'default' in value && '_' in value
}

/** After the input and output that waits now has been handled. */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve)
  })
}
