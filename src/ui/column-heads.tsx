// The head of a table.

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
