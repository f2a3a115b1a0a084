import assert from 'node:assert/strict'
import { test } from 'node:test'
import { withoutImports } from '../../../src/sandbox/guest/import-statements.js'

const cases: readonly (readonly [code: string, want: string])[] = [
  ["import 'a'", "await __import('a');"],
  ["import a from 'b';\na", "const { default: a } = await __import('b');\na"],
  ['import * as a from "b"', 'const a = await __import("b");'],
  ["import { a, b as c } from 'd'", "const {  a, b: c  } = await __import('d');"],
  ["import a, { b } from 'c'", "const { default: a,  b  } = await __import('c');"],
  ["import a, * as b from 'c'", "const b = await __import('c'); const { default: a } = b;"],
  ["import {\n  a,\n} from 'b'", "const { \n  a,\n } = await __import('b');"],
  ["const a = await import('b')", "const a = await __import('b')"],
  ['"import(1)" + `import(2)` // import(3)', '"import(1)" + `import(2)` // import(3)'],
  ['/* import(1) */ x.import(2); const important = 3', '/* import(1) */ x.import(2); const important = 3'],
  ['a = /import("x")/; import("y")', 'a = /import("x")/; __import("y")'],
  ['import.meta.url', 'import.meta.url'],
  ["a = 1 / 2; import b from 'c'; d / 4", "a = 1 / 2; const { default: b } = await __import('c'); d / 4"],
]

for (const [code, want] of cases)
  test(`${code} becomes ${want}`, () => assert.equal(withoutImports(code), want))
