// How often clients may call tools, and which calls their users confirm.

import { isObject } from '../text/json-object.js'
import { nearest } from '../text/nearest.js'
import type { FrontConfig, LimitConfig } from './configuration.js'
import { type ConfirmRule } from '../upstream/contracts/server-config.js'
import { type Kind, type Spot, boolean, integer, oneOrMany, text } from './kinds.js'
import { whatItIs } from './problems.js'
import { type Rules, type Section, field, objects, optional } from './section.js'

/** The signs of other languages of patterns stand in no name of a tool. */
const toolPattern = text({
  pattern: '^[^\\u0000-\\u0020?\\[\\]{}()|^$\\\\]+$',
  wanted: 'the name of a tool, in which "*" stands for any characters',
})

const principalPattern = text({
  pattern: '^[^\\u0000-\\u001f]+$',
  wanted: 'the name of a principal, in which "*" stands for any characters',
})

/** A list of names of tools and of `{ "annotations": "destructive" }`. */
export const confirmRules: Kind<readonly ConfirmRule[]> = {
  wanted: 'a list of names of tools and of { "annotations": "destructive" }',
  schema: {
    type: 'array',
    items: {
      anyOf: [
        toolPattern.schema,
        {
          type: 'object',
          properties: { annotations: { enum: ['destructive'] } },
          required: ['annotations'],
          additionalProperties: false,
        },
      ],
    },
  },
  read: (value, { path, findings }) => {
    if (Array.isArray(value))
      return value.flatMap((rule, at) => readConfirmRule(rule, { path: `${path}[${at}]`, findings }) ?? [])
    const fix = typeof value === 'string' ? ', so put it in [ ]' : ''
    findings.problem(path, whatItIs(value, true), `must be ${confirmRules.wanted}${fix}`)
    return undefined
  },
}

const destructive: ConfirmRule = { annotations: 'destructive' }

function readConfirmRule(value: unknown, spot: Spot): ConfirmRule | undefined {
  if (!isObject(value)) return toolPattern.read(value, spot)
  const [only, ...others] = Object.entries(value)
  if (only?.[0] === 'annotations' && only[1] === 'destructive' && others.length === 0) return destructive
  spot.findings.problem(spot.path, 'is an object', 'the only one is { "annotations": "destructive" }')
  return undefined
}

const callsMax = 1_000_000

const limitRules: Rules = { required: ['perMinute'], isClosed: true }

const limitFields = {
  principal: optional(
    principalPattern,
    'The principals that are limited: names of tokens, or ISSUER#SUBJECT. Each is counted for itself. Absent: all.',
  ),
  tools: field(
    oneOrMany(toolPattern),
    '*',
    'The tools that are counted, as clients without a profile see them.',
  ),
  perMinute: optional(integer(1, callsMax), 'Calls in a minute.'),
  burst: optional(integer(1, callsMax), 'Calls that may come together, after a pause. Absent: perMinute.'),
  each: field(boolean(), false, 'Whether each tool is counted for itself.'),
}

export const limitsFields = {
  limits: optional(objects(limitFields, 'One limit.', limitRules), 'How often clients may call tools.'),
}

/** Reads `limits`; a principal that looks like a misspelled token is a warning, because tokens may come later. */
export function readLimits(root: Section, { tokens = [] }: Pick<FrontConfig, 'tokens'>): LimitConfig[] {
  const names = tokens.map(({ name }) => name)
  const limits = root.read(limitsFields, 'limits') ?? []
  return limits.map(({ tools, burst, ...values }, at) => {
    const { principal = '*', perMinute = 1 } = values
    const [near] = principal.includes('*') || names.includes(principal) ? [] : nearest(principal, names)
    if (near !== undefined)
      root.findings.warn(
        `${root.pathOf('limits')}[${at}].principal`,
        `is "${principal}", which is the name of no token; did you mean "${near}"?`,
      )
    return { ...values, perMinute, tools: [tools].flat(), burst: burst ?? perMinute }
  })
}
