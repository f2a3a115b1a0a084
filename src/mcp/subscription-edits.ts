// Notifications outside of calls: from a stateless server, and to a stateless client.
//
// MCP 2026-07-28, Utilities: subscriptions. One request stays open for them, and each has the id of that
// request in its `_meta`.

import { OPEN_ARRAY } from '../jsonrpc/ascii.js'
import type { ErrorBody } from '../jsonrpc/build.js'
import type { NotificationFrame, RequestFrame } from '../jsonrpc/frame.js'
import { itemsAt, type Members, membersAt } from '../jsonrpc/members.js'
import type { RequestId } from '../jsonrpc/request-id.js'
import { type Edit, NO_EDITS } from '../jsonrpc/splice.js'
import { quote, rawAt, stringAt } from '../jsonrpc/text.js'
import { mistyped } from './error-codes.js'
import { metaEdits } from './meta-edits.js'
import { SUBSCRIPTION_ID } from './meta-keys.js'
import { type ListKind, type Topic, topicKinds } from './methods.js'

/** The lists whose changes a client may follow, by the member of the filter. */
const listMembers: ReadonlyMap<string, readonly ListKind[]> = new Map([
  ['toolsListChanged', ['tools']],
  ['promptsListChanged', ['prompts']],
  ['resourcesListChanged', ['resources', 'templates']],
])

export interface SubscriptionFilter {
  readonly lists: readonly ListKind[]
  readonly topics: readonly Topic[]
}

export function readFilter({ line, params }: RequestFrame): SubscriptionFilter | ErrorBody {
  const members = membersAt(line, params.members.span('notifications'))
  if (members === undefined) return mistyped('notifications', 'an object')
  const lists: ListKind[] = []
  for (const [name, kinds] of listMembers) {
    const span = members.span(name)
    const raw = span && rawAt(line, span)
    if (raw !== undefined && raw !== 'true' && raw !== 'false')
      return mistyped(`notifications.${name}`, 'true or false')
    if (raw === 'true') lists.push(...kinds)
  }
  const topics: Topic[] = []
  for (const kind of topicKinds) {
    const named = topicsOf(kind, members)
    if (named === undefined) return mistyped(`notifications.${kind}`, 'an array of strings')
    topics.push(...named)
  }
  return { lists, topics }
}

/** The topics in a filter, each once; empty without a filter. */
export function topicsIn(members: Members | undefined): Topic[] {
  return topicKinds.flatMap((kind) => (members && topicsOf(kind, members)) ?? [])
}

/** Each topic once; undefined if the member is no array of strings. */
function topicsOf(kind: Topic['kind'], members: Members): Topic[] | undefined {
  const [bytes, span] = [members.bytes, members.span(kind)]
  const names = itemsAt(bytes, span).map((item) => stringAt(bytes, item))
  if (span !== undefined && (bytes[span.start] !== OPEN_ARRAY || names.includes(undefined))) return undefined
  return [...new Set(names.flatMap((name) => name ?? []))].map((name) => ({ kind, name }))
}

export function isFilter(read: SubscriptionFilter | ErrorBody): read is SubscriptionFilter {
  return 'lists' in read
}

export function acknowledgement(id: RequestId, filter: SubscriptionFilter): string {
  return `{"notifications":${filterJson(filter)},${metaOf(id)}}`
}

export function filterJson({ lists, topics }: SubscriptionFilter): string {
  const named = [...listMembers].flatMap(([name, kinds]) =>
    kinds.every((kind) => lists.includes(kind)) ? [`${quote(name)}:true`] : [],
  )
  const followed = topicKinds.flatMap((kind) => {
    const names = topics.flatMap((topic) => (topic.kind === kind ? quote(topic.name) : []))
    return names.length === 0 ? [] : [`${quote(kind)}:[${names.join(',')}]`]
  })
  return `{${[...named, ...followed].join(',')}}`
}

/** Raw JSON of an object that contains only the id of its subscription. */
export function subscribed(id: RequestId): string {
  return `{${metaOf(id)}}`
}

function metaOf(id: RequestId): string {
  return `"_meta":{${quote(SUBSCRIPTION_ID)}:${id}}`
}

/** The edits that add the id of its subscription to a server's notification. */
export function subscriptionEdits(frame: NotificationFrame, id: RequestId): readonly Edit[] {
  const text = `${quote(SUBSCRIPTION_ID)}:${id}`
  return metaEdits(frame, NO_EDITS, [{ text, names: [SUBSCRIPTION_ID], why: 'subscription' }])
}

// Resources below others (MCP, Server features: resources, subscriptions).

/** Whether a resource is the followed one or lies below it, so that the follower gets its updates. */
export function isFollowedBy(uri: string, followed: string): boolean {
  if (uri === followed) return true
  if (!uri.startsWith(followed)) return false
  return followed.endsWith('/') || ['/', '#', '?'].includes(uri.charAt(followed.length))
}
