// Reads `Accept`.

/** The two kinds of answer to a POST. */
export interface Accepts {
  readonly json: boolean
  /** Only when it is named: a client that takes anything is a person with a command line. */
  readonly stream: boolean
  /** An answer that could be either is an event stream: this type has the higher quality, or the same and stands first. */
  readonly prefersStream: boolean
}

export function readAccept(accept: string): Accepts {
  if (accept === '') return { json: true, stream: false, prefersStream: false }
  const types = accept
    .split(',')
    .map(readRange)
    .filter(({ quality }) => quality > 0)
    .sort((a, b) => b.quality - a.quality)
    .map(({ type }) => type)
  const json = types.findIndex((type) => jsonRanges.includes(type))
  const stream = types.findIndex((type) => streamRanges.includes(type))
  return { json: json >= 0, stream: stream >= 0, prefersStream: stream >= 0 && (json < 0 || stream < json) }
}

const jsonRanges: readonly string[] = ['application/json', 'application/*', '*/*']
const streamRanges: readonly string[] = ['text/event-stream', 'text/*']

interface MediaRange {
  readonly type: string
  /** RFC 9110, section 12.4.2: 0 refuses, and 1 is what is not said. */
  readonly quality: number
}

function readRange(range: string): MediaRange {
  const [type = '', ...parameters] = range.split(';').map((part) => part.trim().toLowerCase())
  const weights = parameters.map((parameter) => /^q=([01](?:\.\d{0,3})?)$/.exec(parameter)?.[1])
  return { type, quality: Number(weights.find((weight) => weight !== undefined) ?? 1) }
}
