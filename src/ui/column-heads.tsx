// The heads of the tables of servers, clients and usage. The table of frames has its head in `wire.tsx`.

import type { JSX } from 'preact'

interface ColumnHeadsProps {
  readonly names: readonly string[]
  /** The names of the columns with numbers, which are aligned right. */
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
