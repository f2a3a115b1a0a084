// Keywords that judge the value of a subject by further schemas.
//
// Where one of several forms has to fit, or one must not, a form that fits only
// because something was forgiven may or may not be what the server sees: then
// the keyword does not refuse, and the value stays as it is.

import { isJsonArray } from './json-value.js'
import { adopt, type Errors, type Judge, NO_ERRORS, type NamedRule, type Subject, wrong } from './judging.js'

export const branchRules: readonly NamedRule[] = [
  ['$ref', reference],
  ['allOf', everyBranch],
]

/** Those that come last, when the value has been put right by the others. */
export const choiceRules: readonly NamedRule[] = [
  ['not', forbidden],
  ['anyOf', anyBranch],
  ['oneOf', oneBranch],
  ['if', condition],
]

function reference(subject: Subject, wanted: unknown, judge: Judge): Errors {
  return typeof wanted === 'string' ? adopt(subject, judge.same(judge.target(wanted), subject)) : NO_ERRORS
}

function everyBranch(subject: Subject, wanted: unknown, judge: Judge): Errors {
  for (const branch of listOf(wanted)) {
    const errors = adopt(subject, judge.same(branch, subject))
    if (errors.length > 0) return errors
  }
  return NO_ERRORS
}

function anyBranch(subject: Subject, wanted: unknown, judge: Judge): Errors {
  const tried: Errors[] = []
  let isDoubtful = false
  for (const branch of listOf(wanted)) {
    const { errors, doubt } = judge.same(branch, subject)
    if (errors.length === 0 && !doubt) return NO_ERRORS
    if (errors.length === 0) isDoubtful = true
    tried.push(errors)
  }
  if (!isDoubtful) return [...tried.flat(), ...wrong(subject.path, 'anyOf')]
  subject.doubt = true
  return NO_ERRORS
}

function oneBranch(subject: Subject, wanted: unknown, judge: Judge): Errors {
  const tried: Errors[] = []
  const fitting: number[] = []
  let isDoubtful = false
  for (const [at, branch] of listOf(wanted).entries()) {
    const { errors, doubt } = judge.same(branch, subject)
    if (errors.length > 0) tried.push(errors)
    else if (doubt) isDoubtful = true
    else fitting.push(at)
  }
  if (fitting.length > 1) return wrong(subject.path, 'oneOf', { passingSchemas: fitting })
  if (fitting.length === 0 && !isDoubtful)
    return [...tried.flat(), ...wrong(subject.path, 'oneOf', { passingSchemas: null })]
  if (isDoubtful) subject.doubt = true
  return NO_ERRORS
}

function forbidden(subject: Subject, wanted: unknown, judge: Judge): Errors {
  const { errors, doubt } = judge.same(wanted, subject)
  if (errors.length > 0) return NO_ERRORS
  if (!doubt) return wrong(subject.path, 'not')
  subject.doubt = true
  return NO_ERRORS
}

function condition(subject: Subject, wanted: unknown, judge: Judge): Errors {
  const { errors, doubt } = judge.same(wanted, subject)
  if (errors.length === 0 && doubt) {
    subject.doubt = true
    return NO_ERRORS
  }
  const keyword = errors.length === 0 ? 'then' : 'else'
  const branch = subject.schema[keyword]
  if (branch === undefined) return NO_ERRORS
  const found = adopt(subject, judge.same(branch, subject))
  return found.length === 0
    ? NO_ERRORS
    : [...found, ...wrong(subject.path, 'if', { failingKeyword: keyword })]
}

function listOf(wanted: unknown): readonly unknown[] {
  return isJsonArray(wanted) ? wanted : []
}
