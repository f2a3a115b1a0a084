import assert from 'node:assert'
import { describe, test } from 'node:test'
import { classesOf, readSource } from './source-text.js'

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

  test('counts what a class shows', () => {
    const text = [
      'export class A implements B {',
      '  readonly one: number',
      '  #two = 2',
      '  readonly #more = 3',
      '  get #fewer() {\n    return 1\n  }',
      '  constructor(\n    a: Map<string, number>,\n    { b, c }: B,\n  ) {\n    this.x = 1\n  }',
      '  get three() {\n    return 3\n  }',
      '  async four(): Promise<void> {}',
      '}\n',
    ].join('\n')
    assert.deepEqual(classesOf(text), [{ name: 'A', members: ['one', 'three', 'four'], parameters: 2 }])
  })
})
