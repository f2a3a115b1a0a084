// Shows the results of tools as text for a person.

import { Buffer } from 'node:buffer'
import type { JsonValue } from './json-value.js'

/** Saves the bytes of an image, a sound or a file, and returns the place. */
export type Keep = (bytes: Buffer, mimeType: string) => string

/**
 * Returns the content of a tool result. Structured content appears only where the result has no text item,
 * because a server with both repeats one in the other (MCP 2025-11-25, Tools: Structured Content).
 */
export function toolResult(result: JsonValue, keep: Keep): string {
  const structured = result.member('structuredContent')
  const items = result.member('content')?.items ?? []
  const hasText = items.some((item) => item.string('type') === 'text')
  const texts = items.map((item) => contentText(item, keep))
  if (structured !== undefined && !hasText) texts.push(structured.raw)
  return texts.map(withLineEnd).join('')
}

function contentText(item: JsonValue, keep: Keep): string {
  const type = item.string('type') ?? ''
  if (type === 'text') return item.string('text') ?? ''
  if (type === 'image' || type === 'audio') return keptText(type, item.string('data') ?? '', item, keep)
  const resource = item.member('resource')
  if (type === 'resource' && resource !== undefined) return heldText(resource, keep)
  if (type === 'resource_link') {
    const words = [item.string('name'), item.string('uri'), item.string('description')]
    return words.filter((word) => word !== undefined).join('  ')
  }
  return item.raw
}

function heldText(resource: JsonValue, keep: Keep): string {
  const text = resource.string('text')
  return text ?? keptText(resource.string('uri') ?? 'file', resource.string('blob') ?? '', resource, keep)
}

function keptText(what: string, base64: string, of: JsonValue, keep: Keep): string {
  const bytes = Buffer.from(base64, 'base64')
  const mimeType = of.string('mimeType') ?? 'application/octet-stream'
  return `${what} (${mimeType}, ${bytes.length} bytes): ${keep(bytes, mimeType)}`
}

function withLineEnd(text: string): string {
  return text.endsWith('\n') ? text : `${text}\n`
}
