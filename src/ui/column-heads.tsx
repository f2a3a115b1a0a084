// The heads of the tables of servers and clients; those of the Wire are in `wire.tsx`, since its rows are drawn as needed.

import type { JSX } from 'preact'

export function ColumnHeads({ names }: { readonly names: readonly string[] }): JSX.Element {
  return (
    <thead>
      <tr>
        {names.map((name) => (
          <th key={name} scope="col">
            {name}
          </th>
        ))}
      </tr>
    </thead>
  )
}
