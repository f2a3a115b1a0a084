// The limits of clients of one era at a server of the other, in words.

import { TASKS, isShown } from '../capabilities.js'
import { latestSession, latestStateless } from '../revisions.js'
import type { ServerFacts } from './server-opener.js'

/**
 * One line for people: the limits of clients of the other era, and behind them those of all clients.
 *
 * Log messages of a server that does not name the call (`questionsNameTheirCall`) reach few clients, and the clients of one shared
 * process have no tasks.
 */
export function crossing(
  facts: ServerFacts,
  {
    questionsNameTheirCall,
    isolation,
  }: { readonly questionsNameTheirCall: boolean; readonly isolation: string },
): string {
  const keepsTasks = isolation !== 'shared'
  const isStateless = facts.revision.era === 'stateless'
  const clients = isStateless ? `up to ${latestSession.version}` : `of ${latestStateless.version}`
  const limits = isStateless ? ofStateless(facts) : ofSession(facts, keepsTasks)
  const others = [...limits, ...(facts.capabilities.logging && !questionsNameTheirCall ? [SCARCE_LOG] : [])]
  const all = ofAll(facts, keepsTasks)
  return [
    `clients ${clients}: ${others.join('; ')}`,
    ...(all.length > 0 ? [`all clients: ${all.join('; ')}`] : []),
  ].join('. ')
}

const SCARCE_LOG = 'log messages are passed on only while a single call asks for them'

function ofStateless({ capabilities: { extensions } }: ServerFacts): readonly string[] {
  return [
    'a question of the server is sent to the client during the call, and the call is repeated with the answer',
    'the server is not notified when their roots change',
    ...(extensions.has(TASKS) ? ['no tasks'] : []),
  ]
}

function ofSession({ capabilities }: ServerFacts, keepsTasks: boolean): readonly string[] {
  return [
    'a question of the server is returned as the result of the call (input_required), and the client answers it in its next request',
    ...(capabilities.tasks !== undefined && keepsTasks ? ['no tasks'] : []),
    ...(capabilities.extensions.size > 0 ? ['the server does not learn which extensions they support'] : []),
  ]
}

function ofAll({ capabilities, revision }: ServerFacts, keepsTasks: boolean): readonly string[] {
  const { experimental, extensions, tasks } = capabilities
  const hasTasks = revision.era === 'stateless'
  const names = [...extensions.keys()]
  const never = names.filter((name) => !isShown(name, hasTasks, true))
  const once = names.filter((name) => !never.includes(name) && !isShown(name, hasTasks, false))
  if (experimental !== undefined) once.push('experimental')
  return [
    ...(tasks !== undefined && !keepsTasks ? ['no tasks, because clients share the process'] : []),
    ...(never.length > 0 ? [`never ${someOf(never)}`] : []),
    ...(once.length > 0 ? [`${someOf(once)} only where it is the only server`] : []),
  ]
}

const NAMES_MAX = 5
const NAME_LENGTH_MAX = 80

/** A server may name as many as it likes, as long as it likes. */
function someOf(names: readonly string[]): string {
  const shown = names.slice(0, NAMES_MAX).map((name) => name.slice(0, NAME_LENGTH_MAX))
  const more = names.length - shown.length
  return more > 0 ? `${shown.join(', ')} and ${more} more` : shown.join(', ')
}
