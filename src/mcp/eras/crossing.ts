// What clients of the other era get of a server in another way, or not at all.

import { latestHandshake, latestStateless } from '../revisions.js'
import type { ServerFacts } from './leg.js'

/** One line for people; `namesCalls` says that the server says to which call a log message belongs. */
export function crossing(facts: ServerFacts, namesCalls: boolean): string {
  const isTyped = facts.revision.form === 'typed'
  const clients = isTyped ? `up to ${latestHandshake.version}` : `of ${latestStateless.version}`
  const limits = isTyped ? ofModern : ofLegacy(facts)
  const { logging } = facts.capabilities
  const all = [...limits, ...(logging && !namesCalls ? [SCARCE_LOG] : [])]
  return `clients ${clients}: ${all.join('; ')}`
}

const SCARCE_LOG = 'log messages only while one call wants them'

const ofModern = [
  'its questions are asked during the call, which is sent again with the answers',
  'changes of roots are not passed on',
  'no tasks',
]

function ofLegacy({ capabilities }: ServerFacts): readonly string[] {
  const questions =
    'its questions are the result of the call, which waits for the answers in the next request'
  return capabilities.tasks === undefined ? [questions] : [questions, 'no tasks']
}
