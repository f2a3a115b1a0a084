// Almost valid frames: valid ones with up to three mutations. A seed always gives the same frames. Texts are latin1,
// one character for each byte, so that they can contain invalid UTF-8.

import type { Random } from '../../sim/random.js'

/** The limit keeps the rate of frames high. */
const BYTES_MAX = 1 << 20

/** More invalid lines in a row would end a server. */
const LINES_MAX = 16

type Mutation = (frame: string, random: Random) => string

type Choices = readonly [string, ...string[]]

function words(text: string, ...more: readonly string[]): Choices {
  const [first = '', ...others] = text.split(/\s+/)
  return [first, ...others, ...more]
}

/** Values of `$ID`: every spelling of an id, and invalid ones. */
const ids = words(
  String.raw`1 2 3 17 1.0 1e0 10e-1 -1 -0 0 "1" "\u0031" "" "good" "\ud800" 1.5 1e400 9007199254740991
    9007199254740993 123456789012345678901234567890 null true [] {} [1]`,
  '"\xc3\xa9"',
  `"${'x'.repeat(1024)}"`,
  `"${'x'.repeat(1030)}"`,
)

const values = words(
  String.raw`null true -0 1E400 0.1e-9999 "" "\u0000" "\ud83d" "__proto__" [] {} [[[[1]]]] {"a":1,"a":2}
    {"__proto__":{"a":1},"constructor":2}`,
  `1${'0'.repeat(400)}`,
  '"\xe2\x80\xa8"',
)

const keys =
  words(String.raw`"id":5, "ID":5, "method":"ping", "Method":"ping", "m\u0065thod":"ping", "params":{}, "result":{},
  "error":{"code":1,"message":"m"}, "jsonrpc":"1.0", "jsonrpc":"2.0", "_meta":{"progressToken":1}, "":"",`)

const bytes = words(
  String.raw`\ " { } [ ] , :`,
  ...'\xff \xc0\xaf \xed\xa0\x80 \xf4\x90\x80\x80 \xe2\x82 \xef\xbb\xbf \xe2\x80\xa8 \x00 \x1b[2J'.split(' '),
  ...'\r,\n,\r\n'.split(','),
)

const mutations: readonly [Mutation, ...Mutation[]] = [
  (frame, random) => frame.slice(0, random.below(frame.length)),
  (frame, random) => frame.slice(random.below(frame.length)),
  (frame, random) => insert(frame, random.below(frame.length + 1), random.pick(bytes)),
  (frame, random) => frame.replace('{', `{${random.pick(keys)}`),
  (frame, random) => frame.replace('"params":{', `"params":{${random.pick(keys)}`),
  (frame, random) => frame.replace(/,"/, () => `,${random.pick(keys)}"`),
  (frame, random) => replaceOne(frame, /:("[^"]*"|[0-9]+|\{\}|\[\])/g, `:${random.pick(values)}`, random),
  (frame, random) => replaceOne(frame, /:("[^"]*"|[0-9]+|\{\}|\[\])/g, `:${deep(random)}`, random),
  (frame, random) => frame.replace(/"id":("[^"]*"|[0-9]+)/, () => `"id":${random.pick(ids)}`),
  (frame, random) => replaceOne(frame, /[,:{}[\]]/g, random.pick(['\r', '\n', ' \r\n ', '\t', '']), random),
  (frame, random) => frame.replaceAll(/([,:])/g, `$1${random.pick([' ', '\r', '\t', '  '])}`),
  (frame, random) => `[${frame}]`.repeat(1 + random.below(2)),
  (frame, random) => `[${Array.from({ length: random.below(120) }, () => frame).join(',')}]`,
  (frame, random) => frame + frame.slice(random.below(frame.length)),
  (frame, random) => `${random.pick(bytes)}${frame}${random.pick(bytes)}`,
  (_frame, random) =>
    String.fromCharCode(...Array.from({ length: random.below(200) }, () => random.below(256))),
  (frame, random) => flip(frame, random),
  (frame, random) => frame.replace(/"([^"\\]{3,})"/, (_all, text: string) => `"${escaped(text, random)}"`),
  (frame, random) =>
    random.chance(0.01) ? frame.replace(/:"/, `:"${'y'.repeat(random.below(1 << 20))}`) : frame,
]

/** `frames` are valid frames, with `$ID` for an id. */
export function fuzzed(frames: Choices, random: Random): string {
  let frame = random.pick(frames).replaceAll('$ID', () => random.pick(ids))
  for (let left = random.below(4); left > 0 && frame.length < BYTES_MAX; left--)
    frame = random.pick(mutations)(frame, random)
  return frame.slice(0, BYTES_MAX).split('\n', LINES_MAX).join('\n')
}

function insert(frame: string, at: number, what: string): string {
  return frame.slice(0, at) + what + frame.slice(at)
}

function replaceOne(frame: string, pattern: RegExp, by: string, random: Random): string {
  const found = [...frame.matchAll(pattern)]
  const chosen = found[random.below(found.length)]
  if (chosen === undefined) return frame
  return frame.slice(0, chosen.index) + by + frame.slice(chosen.index + chosen[0].length)
}

function deep(random: Random): string {
  const depth = random.below(300)
  const [open, close] = random.chance(0.5) ? ['[', ']'] : ['{"a":', '}']
  return open.repeat(depth) + '1' + close.repeat(random.chance(0.8) ? depth : random.below(depth + 1))
}

function flip(frame: string, random: Random): string {
  const at = random.below(frame.length)
  const flipped = String.fromCharCode(frame.charCodeAt(at) ^ (1 << random.below(8)))
  return frame.slice(0, at) + flipped + frame.slice(at + 1)
}

function escaped(text: string, random: Random): string {
  const at = random.below(text.length)
  const code = text.charCodeAt(at).toString(16).padStart(4, '0')
  return `${text.slice(0, at)}\\u${code}${text.slice(at + 1)}`
}
