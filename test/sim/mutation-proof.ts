// `npm run sim -- --mutations`: whether every checker can fail.

import { checks } from './checks.js'
import { MutantFarm } from './mutant-farm.js'
import { mutations } from './mutations.js'

/** Hunts every mutation, `workers` at a time; `say` is told of each. False when one was not found. */
export async function proveCheckers(
  seeds: number,
  workers: number,
  say: (text: string) => void,
): Promise<boolean> {
  const waiting = [...mutations]
  const missed: string[] = []
  const work = async (): Promise<void> => {
    const farm = new MutantFarm()
    try {
      for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
        const { isFound, said } = await farm.hunt(next, seeds)
        if (!isFound) missed.push(next.what)
        say(
          `${isFound ? 'found ' : 'MISSED'}  ${next.what}: ${said === '' ? `not ${next.finds.join(', ')}` : said}`,
        )
      }
    } finally {
      farm.close()
    }
  }
  await Promise.all(Array.from({ length: workers }, work))
  const proven = new Set(mutations.flatMap(({ finds }) => finds))
  say(
    `${mutations.length - missed.length} of ${mutations.length} mutations found within ${seeds} seeds and all cells`,
  )
  say(`${proven.size} of ${Object.keys(checks).length} checkers have one`)
  return missed.length === 0
}
