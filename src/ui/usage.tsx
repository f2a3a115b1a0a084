// The number, the durations and the bytes of calls.

import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import type { UsageRow } from '../inspector/protocol.js'
import { ColumnHeads } from './column-heads.js'
import { type Grouping, groupings, grouped } from './usage-groups.js'
import { bytesText, msText, short } from './text.js'

const columns = ['Calls', 'Errors', 'p50', 'p95', 'Arguments', 'Results', 'Tokens'] as const

export function Usage({ rows }: { readonly rows: readonly UsageRow[] }): JSX.Element {
  const [by, setBy] = useState<Grouping>('tool')
  return (
    <section aria-label="Usage" class="view scrolls">
      <p class="filters">
        {groupings.map((each) => (
          <button key={each} type="button" aria-pressed={each === by} onClick={() => setBy(each)}>
            {`By ${each}`}
          </button>
        ))}
      </p>
      <table>
        <caption>{`Calls since the proxy started, by ${by}. Four bytes count as a token.`}</caption>
        <ColumnHeads names={[titleOf(by), ...columns]} numbers={columns} />
        <tbody>
          {grouped(rows, by).map(({ name, calls, errors, p50, p95, argumentBytes, resultBytes, tokens }) => (
            <tr key={name}>
              <th scope="row">{name === '' ? 'none' : short(name, 120)}</th>
              <td class="number">{calls}</td>
              <td class="number">{errors === 0 ? '0' : `${errors} ✗`}</td>
              <td class="number">{msText(p50)}</td>
              <td class="number">{msText(p95)}</td>
              <td class="number">{bytesText(argumentBytes)}</td>
              <td class="number">{bytesText(resultBytes)}</td>
              <td class="number">{tokens.toLocaleString('en')}</td>
            </tr>
          ))}
        </tbody>
      </table>
      {rows.length === 0 ? <p>No call has ended yet.</p> : null}
    </section>
  )
}

function titleOf(by: Grouping): string {
  return by.charAt(0).toUpperCase() + by.slice(1)
}
