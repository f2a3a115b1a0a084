// The files of sessions as resources: their addresses (`sandbox://{session_id}/{path}`), types and contents.

import { fileFailed } from './errors.js'
import { FileText } from './file-text.js'
import { fileBytesMax, inLargeTurn, readFile } from './files.js'
import type { ToolCall } from './tools.js'

export const resourceTemplate = 'sandbox://{session_id}/{+path}'

/** `path` is relative to the folder of the session, or absolute. */
export function resourceUri(sessionId: string, path: string): string {
  return `sandbox://${sessionId}/${path.split('/').map(encodeURIComponent).join('/')}`
}

/** Returns undefined for a URI of another form. */
function readResourceUri(uri: string): { readonly sessionId: string; readonly path: string } | undefined {
  const [, sessionId, path] = /^sandbox:\/\/([A-Za-z0-9._-]{1,128})\/(.+)$/.exec(uri) ?? []
  if (sessionId === undefined || path === undefined) return undefined
  try {
    return { sessionId, path: decodeURIComponent(path) }
  } catch {
    return undefined
  }
}

export interface ResourceContents {
  readonly uri: string
  readonly mimeType: string
  readonly text?: FileText
  /** The content in base64. */
  readonly blob?: FileText
}

/** Returns the contents and the text in them; undefined when the session does not exist, or the URI has another form. @throws SandboxError */
export async function readResource(
  uri: string,
  call: Omit<ToolCall, 'args' | 'onOutput'>,
): Promise<{ readonly contents: ResourceContents; readonly file: FileText } | undefined> {
  const place = readResourceUri(uri)
  const session = place && call.sessions.find(place.sessionId, call.owner)
  if (place === undefined || session === undefined) return undefined
  const { path } = place
  const part = await inLargeTurn(call, fileBytesMax, () =>
    session.useMachine(call.signal, (where) => readFile(where, path, 0, fileBytesMax + 1)),
  )
  if (part === undefined) return undefined
  const { bytes, size } = part
  if (size > fileBytesMax)
    throw fileFailed(`${path}: it has ${size} bytes, and a resource at most ${fileBytesMax}`, { path, size })
  const mimeType = mimeTypeOf(path)
  const file = new FileText(bytes)
  return {
    file,
    contents: { uri, mimeType, ...(file.encoding === 'utf8' ? { text: file } : { blob: file }) },
  }
}

/** MIME types by file extension. */
const types: Readonly<Record<string, string>> = {
  csv: 'text/csv',
  gif: 'image/gif',
  htm: 'text/html',
  html: 'text/html',
  jpeg: 'image/jpeg',
  jpg: 'image/jpeg',
  js: 'text/javascript',
  json: 'application/json',
  md: 'text/markdown',
  pdf: 'application/pdf',
  png: 'image/png',
  py: 'text/x-python',
  svg: 'image/svg+xml',
  txt: 'text/plain',
  webp: 'image/webp',
  xml: 'application/xml',
  zip: 'application/zip',
}

export function mimeTypeOf(path: string): string {
  const [, ending = ''] = /\.([A-Za-z0-9]+)$/.exec(path) ?? []
  const key = ending.toLowerCase()
  return Object.hasOwn(types, key) ? (types[key] ?? '') : 'application/octet-stream'
}
