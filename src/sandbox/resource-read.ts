// A file of a session as a resource.

import { fileFailed } from './errors.js'
import { fileBytesMax, inLargeTurn, isText, readFile } from './files.js'
import { mimeTypeOf } from './mime-type.js'
import { readResourceUri } from './resource-uri.js'
import type { ToolAround } from './tools/sandbox-tool.js'

export interface ResourceContents {
  readonly uri: string
  readonly mimeType: string
  readonly text?: string
  /** In base64. */
  readonly blob?: string
}

/** Undefined where there is no such session, or the address is none. @throws SandboxError */
export async function readResource(
  uri: string,
  { sessions, largeReads }: ToolAround,
  owner: string,
  signal: AbortSignal,
): Promise<ResourceContents | undefined> {
  const place = readResourceUri(uri)
  const session = place && sessions.find(place.sessionId, owner)
  if (place === undefined || session === undefined) return undefined
  const { path } = place
  const part = await inLargeTurn(largeReads, fileBytesMax, signal, () =>
    session.useMachine(signal, (where) => readFile(where, path, 0, fileBytesMax + 1)),
  )
  if (part === undefined) return undefined
  const { bytes, size } = part
  if (size > fileBytesMax)
    throw fileFailed(`${path}: it has ${size} bytes, and a resource at most ${fileBytesMax}`, { path, size })
  const mimeType = mimeTypeOf(path)
  const content = isText(bytes) ? { text: bytes.toString('utf8') } : { blob: bytes.toString('base64') }
  return { uri, mimeType, ...content }
}
