// What a client takes as an answer.

/** The two kinds of answer to a POST. */
export interface Accepts {
  readonly json: boolean
  /** Only when it is named: a client that takes anything is a person with a command line. */
  readonly stream: boolean
}

export function readAccept(accept: string): Accepts {
  if (accept === '') return { json: true, stream: false }
  const types = accept.split(',').map(typeOf)
  return {
    json: types.some((type) => type === 'application/json' || type === 'application/*' || type === '*/*'),
    stream: types.some((type) => type === 'text/event-stream' || type === 'text/*'),
  }
}

/** A media range that is not refused with a quality of zero. */
function typeOf(range: string): string {
  const [type = '', ...parameters] = range.split(';').map((part) => part.trim().toLowerCase())
  return parameters.some((parameter) => /^q=0(?:\.0{0,3})?$/.test(parameter)) ? '' : type
}
