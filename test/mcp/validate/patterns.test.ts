import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import * as fc from 'fast-check'
import { GuardedPatterns } from '../../../src/mcp/validate/guarded-patterns.js'
import { readPattern } from '../../../src/mcp/validate/pattern-cost.js'
import { RunBudget } from '../../../src/mcp/validate/run-budget.js'
import { costMs, turnBoundMs } from '../../processor-time.js'

/** The answer, or undefined where the pattern was not run. */
function guarded(source: string, text: string): boolean | undefined {
  let ran = true
  const budget = new RunBudget()
  budget.refill()
  const answer = new GuardedPatterns(budget, () => (ran = false)).make(source).test(text)
  return ran ? answer : undefined
}

describe('guarded patterns', () => {
  const cases = [
    ['^[a-z0-9-]{1,64}$', 'abc-1', true],
    ['^[a-z0-9-]{1,64}$', 'ABC', false],
    ['^\\d{4}-\\d{2}-\\d{2}$', '2026-01-31', true],
    ['^[^@\\s]+@[^@\\s]+\\.[a-z]+$', 'some.body@example.org', true],
    ['^(?:GET|POST|PUT)$', 'PATCH', false],
    ['^https?://[\\w.-]+(?::\\d+)?(?:/.*)?$', 'https://example.org:8080/x', true],
    ['^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$', '123e4567-e89b-12d3-a456-426614174000', true],
    ['^(?<year>\\d+)$', '2026', true],
    ['[\\w\\-]+', 'a-b', true],
    ['^\\p{L}+$', 'Größe', true],
    ['^\\u{1F600}$', '😀', true],
    ['a{,2}', 'a{,2}', true],
    ['', 'anything', true],
  ] as const
  for (const [source, text, want] of cases) {
    it(`runs ${source}`, () => assert.equal(guarded(source, text), want))
  }

  const refused = [
    ['^(a+)+$', 'a'.repeat(30)],
    ['^(?:a|a)*$', 'a'.repeat(30)],
    ['^(?:a?){30}a{30}$', 'a'.repeat(30)],
    [`^${'a?'.repeat(30)}$`, 'a'.repeat(30)],
    [`^${'(?:a|b|ab)'.repeat(30)}$`, 'ab'],
    ['^(a)\\1$', 'aa'],
    ['(?=a)', 'a'],
    ['(?<!a)b', 'b'],
    ['(?i:a)', 'a'],
    ['(', ''],
    [')', ''],
    ['[', ''],
    ['\\', ''],
    ['a**', ''],
    ['\\u{110000}', ''],
    [`${'('.repeat(40)}a${')'.repeat(40)}`, 'a'],
    ['a'.repeat(600), 'a'],
  ] as const
  for (const [source, text] of refused) {
    it(`does not run ${source.slice(0, 40)}`, () => assert.equal(guarded(source, text), undefined))
  }

  it('leaves a pattern out for long texts only', () => {
    assert.equal(guarded('a+!', 'a'.repeat(1000)), false)
    assert.equal(guarded('a+!', 'a'.repeat(1_000_000)), undefined)
  })

  it('spends one budget on all patterns of a run', () => {
    const budget = new RunBudget()
    const left: string[] = []
    const test = new GuardedPatterns(budget, (pattern) => left.push(pattern)).make('a+!')
    budget.refill()
    let ran = 0
    while (!test.test('a'.repeat(250))) ran++
    assert.ok(ran >= 10 && ran < 1000, `${ran}`)
    assert.deepEqual(left, ['a+!'])
    budget.refill()
    assert.equal(test.test('a'.repeat(1000)), false)
  })

  it('tells patterns apart for ajv', () => {
    const patterns = new GuardedPatterns(new RunBudget(), () => {})
    assert.notEqual(String(patterns.make('a')), String(patterns.make('b')))
  })

  it('keeps no text waiting, whatever the pattern', () => {
    const atom = fc.constantFrom('a', 'b', '.', '[ab]', '\\w', '^', '$', '\\b')
    const count = fc.constantFrom('', '', '*', '+', '?', '{2}', '{1,3}', '{2,}', '+?')
    const { pattern } = fc.letrec<{ pattern: string; part: string }>((tie) => ({
      part: fc
        .tuple(
          fc.oneof(
            { maxDepth: 3 },
            atom,
            tie('pattern').map((inner) => `(?:${inner})`),
          ),
          count,
        )
        .map((both) => both.join('')),
      pattern: fc.oneof(
        { maxDepth: 3 },
        fc.array(tie('part'), { maxLength: 5 }).map((parts) => parts.join('')),
        fc.tuple(tie('pattern'), tie('pattern')).map((two) => two.join('|')),
      ),
    }))
    fc.assert(
      fc.property(pattern, fc.constantFrom(10, 30, 300, 3000), (source, length) => {
        for (const text of ['a'.repeat(length), `${'ab'.repeat(length / 2)}!`]) {
          const usedMs = costMs(() => guarded(source, text))
          assert.ok(usedMs < turnBoundMs(), `${source} on ${length}: ${usedMs} ms`)
        }
      }),
      { numRuns: 300 },
    )
  })
})

describe('readPattern', () => {
  const cases = [
    ['^abc$', 10, 7],
    ['^a+$', 10, 31],
    ['^(?:a|b)$', 1, 9],
  ] as const
  for (const [source, length, atMost] of cases) {
    it(`is close for ${source}`, () => {
      const steps = readPattern(source)?.(length)
      assert.ok(steps !== undefined)
      assert.ok(steps <= atMost && steps >= length / 3, `${steps}`)
    })
  }
})
