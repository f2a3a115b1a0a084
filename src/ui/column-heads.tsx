// The heads of the tables of servers and clients; those of the Wire are in `wire.tsx`, since its rows are drawn as needed.

import type { JSX } from 'preact'

interface ColumnHeadsProps {
  readonly names: readonly string[]
  /** The names of columns of numbers, which stand at the right. */
  readonly numbers: readonly string[]
}

export function ColumnHeads({ names, numbers }: ColumnHeadsProps): JSX.Element {
  return (
    <thead>
      <tr>
        {names.map((name) => (
          <th key={name} scope="col" class={numbers.includes(name) ? 'number' : ''}>
            {name}
          </th>
        ))}
      </tr>
    </thead>
  )
}
