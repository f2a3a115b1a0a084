// One schema, compiled by an ajv of its own.
//
// An instance per schema: schemas in one instance can refer to each other, and a
// stranger's must not see another stranger's. The keywords whose cost is not
// bounded by the size of the schema are replaced by ones that pay for what they do.

import type { CodeKeywordDefinition, ErrorObject, Options } from 'ajv'
import type { AjvBuild } from './ajv-build.js'
import { GuardedPatterns, type TextTest } from './guarded-patterns.js'
import type { JsonObject } from './json-value.js'
import type { RunBudget } from './run-budget.js'
import { hasAtLeast, hasAtMost } from './text-length.js'
import { hasUniqueItems } from './unique-items.js'

export interface CompiledSchema {
  /** The faults of a value, undefined when it is valid. Throws a RangeError when the budget is spent. */
  run(value: unknown): readonly ErrorObject[] | undefined
  /** Whether a text has a pattern of the schema; true when that may not be found out. */
  matches(pattern: string, text: string): boolean
  /** Whether the dialect has the keyword. */
  knows(keyword: string): boolean
}

/** Throws whatever ajv says about a schema that it does not accept. `schema` must come from a plan. */
export function compileSchema(
  build: AjvBuild,
  schema: JsonObject,
  budget: RunBudget,
  patternLeftOut: (pattern: string) => void,
): CompiledSchema {
  const patterns = new GuardedPatterns(budget, patternLeftOut)
  const made = new Map<string, TextTest>()
  const make = (source: string): TextTest => {
    const test = patterns.make(source)
    made.set(source, test)
    return test
  }
  const ajv = new build.Ajv(optionsWith(make))
  for (const definition of keywordsOn(build, budget)) {
    ajv.removeKeyword(definition.keyword)
    ajv.addKeyword(definition)
  }
  const validate = ajv.compile(schema)
  return {
    run: (value) => {
      budget.refill()
      return validate(value) ? undefined : (validate.errors ?? [])
    },
    matches: (pattern, text) => made.get(pattern)?.test(text) ?? true,
    knows: (keyword) => ajv.getKeyword(keyword) !== false,
  }
}

function optionsWith(regExp: (source: string) => TextTest): Options {
  return {
    strict: false,
    // Members are those of the data; `toString` is not one of them.
    ownProperties: true,
    // A subschema that is referred to often is then still compiled once.
    inlineRefs: false,
    // The meta-schemas cost start-up time, and a broken schema shows when it is compiled.
    meta: false,
    validateSchema: false,
    validateFormats: false,
    messages: false,
    logger: false,
    // Long lists become loops instead of code, which would have to be compiled.
    loopEnum: 8,
    loopRequired: 8,
    code: { optimize: false, regExp: Object.assign(regExp, { code: 'guardedPattern' }) },
  }
}

interface Definition extends CodeKeywordDefinition {
  readonly keyword: string
}

function keywordsOn({ code }: AjvBuild, budget: RunBudget): readonly Definition[] {
  const spend = (steps: number): void => budget.spend(steps)
  const spendOnMembers = (value: unknown, lists: number): void => budget.spendOnMembers(value, lists)
  const atLeast = (text: string, limit: number): boolean => hasAtLeast(text, limit, spend)
  const atMost = (text: string, limit: number): boolean => hasAtMost(text, limit, spend)
  const unique = (items: readonly unknown[], wanted: boolean): boolean =>
    !wanted || hasUniqueItems(items, spend)
  const error: CodeKeywordDefinition['error'] = {
    message: '',
    params: ({ schemaCode }) => code`{limit: ${schemaCode}}`,
  }
  const check = (keyword: string, holds: unknown): Pick<Definition, 'keyword' | 'code' | 'error'> => ({
    keyword,
    error,
    code: (cxt) =>
      cxt.fail(code`!${cxt.gen.scopeValue('func', { ref: holds })}(${cxt.data}, ${cxt.schemaCode})`),
  })
  return [
    { ...check('minLength', atLeast), type: 'string', schemaType: 'number' },
    { ...check('maxLength', atMost), type: 'string', schemaType: 'number' },
    { ...check('uniqueItems', unique), type: 'array', schemaType: 'boolean' },
    {
      keyword: 'stepsPerMember',
      schemaType: 'number',
      before: '$ref',
      code: ({ gen, data, schemaCode }) =>
        gen.code(code`${gen.scopeValue('func', { ref: spendOnMembers })}(${data}, ${schemaCode})`),
    },
    {
      keyword: 'steps',
      schemaType: 'number',
      before: '$ref',
      code: ({ gen, schemaCode }) => gen.code(code`${gen.scopeValue('func', { ref: spend })}(${schemaCode})`),
    },
  ]
}
