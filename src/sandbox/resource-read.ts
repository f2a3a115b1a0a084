// A file of a session as a resource.

import { isUtf8 } from 'node:buffer'
import { fileFailed } from './errors.js'
import { fileBytesMax, readFile } from './files.js'
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
  { sessions, runtime }: ToolAround,
  owner: string,
): Promise<ResourceContents | undefined> {
  const place = readResourceUri(uri)
  const session = place && sessions.find(place.sessionId, owner)
  if (place === undefined || session === undefined) return undefined
  const { path } = place
  const part = await session.useMachine((machine) =>
    readFile({ machine, clock: runtime }, path, 0, fileBytesMax + 1),
  )
  if (part === undefined) return undefined
  const { bytes, size } = part
  if (size > fileBytesMax)
    throw fileFailed(`${path}: it has ${size} bytes, and a resource at most ${fileBytesMax}`, { path, size })
  const mimeType = mimeTypeOf(path)
  const content = isUtf8(bytes) ? { text: bytes.toString('utf8') } : { blob: bytes.toString('base64') }
  return { uri, mimeType, ...content }
}
