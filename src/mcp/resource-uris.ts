// Resources below others (MCP, Server features: resources, subscriptions).

/** Whether a resource is the followed one, or lies below it: its updates are told to whoever follows that. */
export function isFollowedBy(uri: string, followed: string): boolean {
  if (uri === followed) return true
  if (!uri.startsWith(followed)) return false
  return followed.endsWith('/') || ['/', '#', '?'].includes(uri.charAt(followed.length))
}
