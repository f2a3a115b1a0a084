// Characters that a model reads and a person does not see: zero-width ones, bidirectional controls, tags, and control
// characters. A description may hide orders in them.

/** The sorts of invisible characters, for people. */
type Unseen = 'zero-width' | 'bidi' | 'tag' | 'control' | 'invisible'

/** One character, or several of the same sort behind each other. */
export interface UnseenRun {
  /** Of the first, as in `U+200B`. */
  readonly codePoint: string
  readonly sort: Unseen
  readonly count: number
  /** How many characters stand before it. */
  readonly at: number
  /** The text that a run of tags spells. */
  readonly spells: string | undefined
}

/** Emoji join several characters with invisible ones, which is no reason to warn. The flag `v` is newer than the target of the compiler. */
const emoji = new RegExp(String.raw`\p{RGI_Emoji}`, 'gv')

const unseen = /[\p{Cc}\p{Cf}\p{Default_Ignorable_Code_Point}\u2028\u2029]/gu

/** Line breaks and tabs are layout. */
const layout = '\n\r\t'

function isUnseen(character: string): boolean {
  return character.search(unseen) === 0 && !layout.includes(character)
}

/** Every invisible character of a text, emoji left aside. */
export function unseenIn(text: string): UnseenRun[] {
  if (text.search(unseen) < 0) return []
  const runs: UnseenRun[] = []
  let end = -1
  let at = 0
  for (const character of text.replaceAll(emoji, (found) => '.'.repeat(Array.from(found).length))) {
    if (isUnseen(character)) {
      const run = runOf(character, at)
      const last = runs.at(-1)
      if (last !== undefined && end === at && last.sort === run.sort)
        runs[runs.length - 1] = { ...last, count: last.count + 1, spells: joined(last.spells, run.spells) }
      else runs.push(run)
      end = at + 1
    }
    at++
  }
  return runs
}

function joined(one: string | undefined, other: string | undefined): string | undefined {
  return one === undefined && other === undefined ? undefined : `${one ?? ''}${other ?? ''}`
}

function runOf(character: string, at: number): UnseenRun {
  const code = character.codePointAt(0) ?? 0
  const sort = sortOf(code)
  const letter = code - 0xe0000
  const spells = sort === 'tag' && letter >= 0x20 && letter < 0x7f ? String.fromCharCode(letter) : undefined
  return { codePoint: codePointOf(code), sort, count: 1, at, spells }
}

function sortOf(code: number): Unseen {
  if (code < 0x20 || (code >= 0x7f && code < 0xa0)) return 'control'
  if (code === 0x061c || (code >= 0x200e && code <= 0x200f)) return 'bidi'
  if ((code >= 0x202a && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069)) return 'bidi'
  if ((code >= 0x200b && code <= 0x200d) || (code >= 0x2060 && code <= 0x2064) || code === 0xfeff)
    return 'zero-width'
  return code >= 0xe0000 && code <= 0xe007f ? 'tag' : 'invisible'
}

function codePointOf(code: number): string {
  return `U+${code.toString(16).toUpperCase().padStart(4, '0')}`
}

/** Words for a run, such as `U+200B (zero-width) at character 14`. */
export function runInWords({ codePoint, sort, count, at, spells }: UnseenRun): string {
  const more = count === 1 ? '' : `, ${count} characters`
  const hidden = spells === undefined ? '' : ` that spell "${spells.slice(0, SPELLED_LENGTH_MAX)}"`
  return `${codePoint} (${sort}${more})${hidden} at character ${at + 1}`
}

/** More of a hidden text says nothing that its beginning does not. */
const SPELLED_LENGTH_MAX = 120

/** The text with each invisible character as `<U+200B>`. */
export function showUnseen(text: string): string {
  return text.replaceAll(unseen, (character) =>
    layout.includes(character) ? character : `<${codePointOf(character.codePointAt(0) ?? 0)}>`,
  )
}

/** The same JSON text with each invisible character as an escape. */
export function escapeUnseen(json: string): string {
  return json.replaceAll(unseen, (character) => {
    const units = [...Array(character.length).keys()].map((at) => character.charCodeAt(at))
    return units.map((unit) => `\\u${unit.toString(16).padStart(4, '0')}`).join('')
  })
}
