// One schema, compiled by an ajv of its own.
//
// An instance per schema: schemas in one instance can refer to each other, and a
// stranger's must not see another stranger's. The keywords whose cost is not
// bounded by the size of the schema are replaced by ones that pay for what they do.

import type { CodeKeywordDefinition, ErrorObject, Options } from 'ajv'
import type { AjvBuild } from './ajv-build.js'
import { GuardedPatterns } from './guarded-patterns.js'
import type { JsonObject } from './json-value.js'
import type { RunBudget } from './run-budget.js'
import { hasAtLeast, hasAtMost } from './text-length.js'
import { hasUniqueItems } from './unique-items.js'

export interface CompiledSchema {
  /** Whether a value is valid; its faults are in `errors` then. Throws a RangeError when the budget is spent. */
  readonly validate: ((value: unknown) => unknown) & { errors?: ErrorObject[] | null }
  readonly patterns: GuardedPatterns
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
  const ajv = new build.Ajv(optionsWith((source) => patterns.make(source)))
  for (const definition of keywordsOn(build, budget)) {
    ajv.removeKeyword(definition.keyword)
    ajv.addKeyword(definition)
  }
  return { validate: ajv.compile(schema), patterns, knows: (keyword) => ajv.getKeyword(keyword) !== false }
}

function optionsWith(regExp: (source: string) => ReturnType<GuardedPatterns['make']>): Options {
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

/** The functions get the value, what the schema has there, and how to pay. */
function keywordsOn({ code }: AjvBuild, { spend, spendOnMembers }: RunBudget): readonly Definition[] {
  const error: CodeKeywordDefinition['error'] = {
    message: '',
    params: ({ schemaCode }) => code`{limit: ${schemaCode}}`,
  }
  const check = (keyword: string, holds: unknown): Pick<Definition, 'keyword' | 'code' | 'error'> => ({
    keyword,
    error,
    code: (cxt) => {
      const [func, pay] = [holds, spend].map((ref) => cxt.gen.scopeValue('func', { ref }))
      cxt.fail(code`!${func}(${cxt.data}, ${cxt.schemaCode}, ${pay})`)
    },
  })
  const price = (keyword: string, pay: unknown): Definition => ({
    keyword,
    schemaType: 'number',
    before: '$ref',
    code: ({ gen, data, schemaCode }) =>
      gen.code(code`${gen.scopeValue('func', { ref: pay })}(${schemaCode}, ${data})`),
  })
  return [
    { ...check('minLength', hasAtLeast), type: 'string', schemaType: 'number' },
    { ...check('maxLength', hasAtMost), type: 'string', schemaType: 'number' },
    { ...check('uniqueItems', isUnique), type: 'array', schemaType: 'boolean' },
    price('stepsPerMember', spendOnMembers),
    price('steps', spend),
  ]
}

/** The copy of a schema has no `uniqueItems` that is false. */
function isUnique(items: readonly unknown[], _wanted: true, spend: RunBudget['spend']): boolean {
  return hasUniqueItems(items, spend)
}
