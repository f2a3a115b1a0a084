// The types that the rules of the lenient check share.
//
// A value is judged by a schema as a tolerant server would: what such a server
// puts right is put right in the value that is judged on, and noted as a doubt.

import type { ErrorObject } from 'ajv'
import type { JsonObject } from './json-value.js'
import type { MemberFacts } from './member-facts.js'
import type { Schema } from './schema-copy.js'

export type Errors = readonly ErrorObject[]

export const NO_ERRORS: Errors = []

export interface Verdict {
  /** The first fault that was not forgiven, behind those of the branches that were tried; empty when there is none. */
  readonly errors: Errors
  /** Whether anything was forgiven. */
  readonly doubt: boolean
  /** The value as it was put right. */
  readonly value: unknown
}

/** One schema at one value. */
export interface Subject {
  readonly schema: JsonObject
  /** Of the value, as a JSON pointer into the arguments. */
  readonly path: string
  /** What is known of the members, from all schemas that judge the value. */
  readonly facts: MemberFacts
  value: unknown
  doubt: boolean
}

/** The operations that a rule may use. */
export interface Judge {
  /** Judges the value of the subject by another schema. */
  same(schema: unknown, subject: Subject): Verdict
  /** Judges a value inside that of the subject. */
  inner(schema: unknown, value: unknown, path: string): Verdict
  /** Whether the member may be left out: it has a default, or nothing requires it. */
  isOptional(subject: Subject, name: string): boolean
  /** The number that a keyword has in a schema, where this dialect has the keyword. */
  limit(schema: JsonObject, keyword: string): number | undefined
  /** The schema that a reference of the copy leads to. */
  target(reference: string): Schema
  /** Whether the text has the pattern; true when that may not be found out. */
  matches(pattern: string, text: string): boolean
  /** The names of the members of an object, and pays for listing them. */
  names(value: JsonObject): readonly string[]
  /** Throws a RangeError when the budget is spent. */
  spend(steps: number): void
}

/** What one keyword says: the errors that remain, and in the subject what was forgiven. */
export type Rule = (subject: Subject, wanted: unknown, judge: Judge) => Errors

/** The keyword, and what it says. */
export type NamedRule = readonly [keyword: string, rule: Rule]

/** One error as ajv would say it. */
export function wrong(path: string, keyword: string, params: Readonly<Record<string, unknown>> = {}): Errors {
  return [{ keyword, instancePath: path, schemaPath: '', params }]
}

/** Goes on with the value as a verdict left it. */
export function adopt(subject: Subject, { errors, doubt, value }: Verdict): Errors {
  if (errors.length > 0) return errors
  subject.doubt ||= doubt
  subject.value = value
  return NO_ERRORS
}
