// Whether two texts are equal except for dates and times.
//
// Only recordings are compared so, and how often it was needed is reported: a
// server that tells the time cannot answer twice with the same bytes.

const STAMP =
  /\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}(?::\d{2}(?:[.,]\d+)?)?(?:Z|[+-]\d{2}:?\d{2})?)?|\b(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day\b/g

/** How many dates and days of the week differ, when nothing else does; 0 when something else does. */
export function differingTimes(expected: string, received: string): number {
  if (expected.replaceAll(STAMP, '\0') !== received.replaceAll(STAMP, '\0')) return 0
  const before = expected.match(STAMP) ?? []
  const now = received.match(STAMP) ?? []
  return before.filter((stamp, at) => stamp !== now[at]).length
}
