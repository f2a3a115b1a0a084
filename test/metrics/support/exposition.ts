// A strict reader of the text format of Prometheus 0.0.4, which shares no code with the writer.

import { strict as assert } from 'node:assert'

export interface Sample {
  readonly name: string
  readonly labels: ReadonlyMap<string, string>
  readonly value: number
}

export interface ReadFamily {
  readonly name: string
  readonly type: string
  readonly samples: readonly Sample[]
}

const NAME = '[a-zA-Z_:][a-zA-Z0-9_:]*'
const LABEL = '[a-zA-Z_][a-zA-Z0-9_]*'

const ABOUT = new RegExp(`^# (HELP|TYPE) (${NAME}) (.+)$`)
const SAMPLE = new RegExp(`^(${NAME})(?:\\{(.*)\\})? (\\S+)$`)
const PAIR = new RegExp(`^(${LABEL})="((?:[^"\\\\\\n]|\\\\[\\\\"n])*)"(?:,(?=.)|$)`)

/** Every family of a page; fails where a scraper could stumble. */
export function readExposition(text: string): readonly ReadFamily[] {
  assert(text === '' || text.endsWith('\n'), 'the last line ends with a line feed')
  const families: { name: string; type: string; samples: Sample[] }[] = []
  let helped: string | undefined
  for (const line of text.split('\n').slice(0, -1)) {
    const [, keyword, name = '', rest = ''] = ABOUT.exec(line) ?? []
    if (keyword === 'HELP') {
      assert(!families.some((each) => each.name === name), `${name} stands once`)
      helped = name
    } else if (keyword === 'TYPE') {
      assert.equal(name, helped, 'HELP stands before TYPE')
      assert.match(rest, /^(?:counter|gauge|histogram)$/)
      families.push({ name, type: rest, samples: [] })
    } else families.at(-1)?.samples.push(readSample(line))
  }
  for (const family of families) checkFamily(family)
  return families
}

function readSample(line: string): Sample {
  const [, name = '', braces, number = ''] = SAMPLE.exec(line) ?? []
  assert(name !== '', `a sample: ${line}`)
  const labels = new Map<string, string>()
  let left = braces ?? ''
  while (left !== '') {
    const [whole = '', label = '', value = ''] = PAIR.exec(left) ?? []
    assert(whole !== '' && !labels.has(label), `labels: ${left}`)
    labels.set(
      label,
      value.replaceAll(/\\(.)/g, (_, sign: string) => (sign === 'n' ? '\n' : sign)),
    )
    left = left.slice(whole.length)
  }
  const value = number === '+Inf' ? Infinity : Number(number)
  assert(!Number.isNaN(value), `a number: ${line}`)
  return { name, labels, value }
}

function checkFamily({ name, type, samples }: ReadFamily): void {
  assert(samples.length > 0, `${name} has samples`)
  assert.equal(name.endsWith('_total'), type === 'counter', `${name} is a ${type}`)
  const keys = samples.map((sample) => `${sample.name} ${JSON.stringify([...sample.labels])}`)
  assert.equal(new Set(keys).size, keys.length, `${name} has each series once`)
  if (type !== 'histogram') return assert(samples.every((sample) => sample.name === name))
  const series = new Map<string, Sample[]>()
  for (const sample of samples) {
    const key = JSON.stringify([...sample.labels].filter(([label]) => label !== 'le'))
    series.set(key, [...(series.get(key) ?? []), sample])
  }
  for (const all of series.values()) checkHistogram(name, all)
}

/** Buckets in their order, which only grow, up to the count. */
function checkHistogram(name: string, samples: readonly Sample[]): void {
  const buckets = samples.filter((sample) => sample.name === `${name}_bucket`)
  const bounds = buckets.map(({ labels }) => Number(labels.get('le')?.replace('+Inf', 'Infinity')))
  assert.deepEqual(
    bounds,
    [...bounds].sort((one, other) => one - other),
  )
  assert.equal(bounds.at(-1), Infinity)
  const counts = buckets.map(({ value }) => value)
  assert.deepEqual(
    counts,
    [...counts].sort((one, other) => one - other),
  )
  const others = samples.slice(buckets.length).map((sample) => sample.name)
  assert.deepEqual(others, [`${name}_sum`, `${name}_count`])
  assert.equal(samples.at(-1)?.value, counts.at(-1))
}

/** The samples of one name with these labels. */
export function samplesOf(
  families: readonly ReadFamily[],
  name: string,
  labels: Readonly<Record<string, string>> = {},
): readonly Sample[] {
  return families
    .flatMap(({ samples }) => samples)
    .filter((sample) => sample.name === name)
    .filter((sample) => Object.entries(labels).every(([label, value]) => sample.labels.get(label) === value))
}

export function sumOf(...of: Parameters<typeof samplesOf>): number {
  return samplesOf(...of).reduce((sum, { value }) => sum + value, 0)
}
