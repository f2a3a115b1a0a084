// What scripted servers ask, so that it can be told which of several questions an answer is for.

import { textAt } from './json.js'

/** What a client can be asked, in the order in which servers choose. */
export const askable = ['sampling', 'elicitation', 'roots'] as const

const methods: Readonly<Record<string, string>> = {
  sampling: 'sampling/createMessage',
  elicitation: 'elicitation/create',
  roots: 'roots/list',
}

export function methodOf(capability: string): string {
  return methods[capability] ?? ''
}

/** The capability that this question needs. */
export function neededFor(method: string): string | undefined {
  return Object.keys(methods).find((capability) => methods[capability] === method)
}

/** A word that stands in one question and in its answer, and nowhere else. */
export function markOf(name: string): string {
  return `mark:${name};`
}

export function markIn(text: string): string | undefined {
  return /mark:[a-z]\d+[#~]\d+-\d+;/.exec(text)?.[0]
}

/** Params that are still the question's own once what belongs to a session is left out. */
export function questionParams(capability: string, about: string): string {
  switch (capability) {
    case 'elicitation':
      return `{"message":"${about}","requestedSchema":{"type":"object","properties":{}}}`
    case 'sampling':
      return `{"messages":[{"role":"user","content":{"type":"text","text":"${about}"}}],"maxTokens":1}`
    default:
      return `{"_meta":{"about":"${about}"}}`
  }
}

/** What a client says to a question; `how` makes it other words. */
export function answerTo(question: unknown, nonce: string, how: string): string {
  const mark = markIn(JSON.stringify(question)) ?? ''
  const isForm = textAt(question, 'method') === 'elicitation/create'
  return `{${isForm ? '"action":"accept",' : ''}"said":"n:${nonce}; ${mark}","how":"${how}"}`
}
