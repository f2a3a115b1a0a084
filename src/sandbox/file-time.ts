// When a file was changed, as `find` prints it with `%T@`.

/** The last one that a `Date` can be; files may be dated later. */
const DATE_MS_MAX = 8_640_000_000_000_000

/** For a regular expression. */
export const FILE_TIME = '-?\\d+(?:\\.\\d*)?'

/** Whole milliseconds since 1970. The fraction is always added: `-2.25` is 1.75 seconds before 1970. */
export function fileTimeMs(text: string): number {
  const [seconds = '', fraction = ''] = text.split('.')
  const timeMs = Number(seconds) * 1000 + Number(fraction.slice(0, 3).padEnd(3, '0'))
  return Math.min(Math.max(timeMs, -DATE_MS_MAX), DATE_MS_MAX)
}
