// Keywords that judge the value of a subject by further schemas.
//
// Where one of several forms has to fit, or one must not, a form that fits only
// because something was forgiven may or may not be what the server sees: then
// the keyword does not refuse, and the value stays as it is.

import { listOf } from './json-value.js'
import {
  type Errors,
  firstErrors,
  type LenientJudge,
  NO_ERRORS,
  type NamedRule,
  type Subject,
  wrong,
} from './lenient-judge.js'

export const branchRules: readonly NamedRule[] = [
  ['$ref', (subject, wanted, judge) => judge.also(judge.target(wanted), subject)],
  ['allOf', (subject, wanted, judge) => firstErrors(listOf(wanted), (branch) => judge.also(branch, subject))],
]

/** Those that come last, when the value has been put right by the others. */
export const choiceRules: readonly NamedRule[] = [
  ['not', forbidden],
  ['anyOf', anyBranch],
  ['oneOf', oneBranch],
  ['if', condition],
]

interface Tried {
  /** Of the branches that do not fit. */
  readonly errors: Errors
  readonly fitting: number
  /** Whether one fits only with something forgiven. */
  readonly doubt: boolean
}

function tried(subject: Subject, branches: unknown, most: number, judge: LenientJudge): Tried {
  const errors: Errors[] = []
  let fitting = 0
  let doubt = false
  for (const branch of listOf(branches)) {
    if (fitting === most) break
    const verdict = judge.same(branch, subject)
    if (verdict.errors.length > 0) errors.push(verdict.errors)
    else if (verdict.doubt) doubt = true
    else fitting++
  }
  return { errors: errors.flat(), fitting, doubt }
}

function anyBranch(subject: Subject, wanted: unknown, judge: LenientJudge): Errors {
  const { errors, fitting, doubt } = tried(subject, wanted, 1, judge)
  if (fitting > 0) return NO_ERRORS
  subject.doubt ||= doubt
  return doubt ? NO_ERRORS : [...errors, ...wrong(subject.path, 'anyOf')]
}

function oneBranch(subject: Subject, wanted: unknown, judge: LenientJudge): Errors {
  const { errors, fitting, doubt } = tried(subject, wanted, 2, judge)
  if (fitting > 1) return wrong(subject.path, 'oneOf')
  subject.doubt ||= doubt
  if (fitting === 1 || doubt) return NO_ERRORS
  return [...errors, ...wrong(subject.path, 'oneOf', { passingSchemas: null })]
}

function forbidden(subject: Subject, wanted: unknown, judge: LenientJudge): Errors {
  const { errors, doubt } = judge.same(wanted, subject)
  if (errors.length === 0 && !doubt) return wrong(subject.path, 'not')
  subject.doubt ||= errors.length === 0
  return NO_ERRORS
}

function condition(subject: Subject, wanted: unknown, judge: LenientJudge): Errors {
  const { errors, doubt } = judge.same(wanted, subject)
  if (errors.length === 0 && doubt) {
    subject.doubt = true
    return NO_ERRORS
  }
  const branch = subject.schema[errors.length === 0 ? 'then' : 'else']
  const found = branch === undefined ? NO_ERRORS : judge.also(branch, subject)
  return found.length === 0 ? NO_ERRORS : [...found, ...wrong(subject.path, 'if')]
}
