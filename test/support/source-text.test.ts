import assert from 'node:assert'
import { describe, test } from 'node:test'
import { readSource } from './source-text.js'

describe('the reader of sources', () => {
  test('sees every kind of import', () => {
    const text = [
      "import type { A } from './a.js' // import './no.js'",
      "import {\n  type B,\n  c,\n} from '../x/b.js'",
      "export * from 'pack/deep.js'",
      "const d = await import('./d.js') /* 'lost' */",
      "type E = typeof import('./e.js').e",
      "const f = `a ${g('./no.js')} b` + /'\\/[/']/.source",
      "import 'node:os'",
    ].join('\n')
    assert.deepEqual(
      readSource('src/y/here.ts', text).imports.map(({ file, isType }) => [file, isType]),
      [
        ['src/y/a.ts', true],
        ['src/x/b.ts', false],
        [undefined, false],
        ['src/y/d.ts', false],
        ['src/y/e.ts', true],
        [undefined, false],
      ],
    )
  })
})
