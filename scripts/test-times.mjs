// A reporter of `node --test`. It prints the output of `spec`, and before the sums the seconds of each file.

import { relative } from 'node:path'
import { Readable } from 'node:stream'
import { spec } from 'node:test/reporters'

async function* withTimes(events) {
  const files = []
  let isListed = false
  for await (const event of events) {
    const { type, data } = event
    if (type === 'test:complete' && data.name === data.file) files.push(data)
    if (type === 'test:diagnostic' && data.nesting === 0 && files.length > 1 && !isListed) {
      isListed = true
      for (const message of linesOf(files)) yield { type, data: { ...data, message } }
    }
    yield event
  }
}

function linesOf(files) {
  const slowestFirst = files.toSorted((one, other) => other.details.duration_ms - one.details.duration_ms)
  return slowestFirst.map(({ file, details }) => {
    const seconds = (details.duration_ms / 1000).toFixed(1).padStart(6)
    return `${seconds} s  ${relative('build', file).replace(/\.js$/, '.ts')}`
  })
}

// oxlint-disable-next-line import/no-default-export -- node --test takes a reporter from there
export default async function* report(events) {
  yield* Readable.from(withTimes(events)).pipe(new spec())
}
