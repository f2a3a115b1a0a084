// The addresses of files in sessions: `sandbox://{session_id}/{path}`.

export const resourceTemplate = 'sandbox://{session_id}/{+path}'

/** `path` begins at the folder of the session, or is absolute. */
export function resourceUri(sessionId: string, path: string): string {
  return `sandbox://${sessionId}/${path.split('/').map(encodeURIComponent).join('/')}`
}

/** Undefined for what is no such address. */
export function readResourceUri(
  uri: string,
): { readonly sessionId: string; readonly path: string } | undefined {
  const [, sessionId, path] = /^sandbox:\/\/([A-Za-z0-9._-]{1,128})\/(.+)$/.exec(uri) ?? []
  if (sessionId === undefined || path === undefined) return undefined
  try {
    return { sessionId, path: decodeURIComponent(path) }
  } catch {
    return undefined
  }
}
