// The attached clients.

import type { JSX } from 'preact'
import type { ClientRow, StatusReport, UsageRow } from '../inspector/protocol.js'
import { ColumnHeads } from './column-heads.js'
import { agoText, bytesText, count, short } from './text.js'
import { grouped } from './usage-groups.js'

const columns = [
  'Client',
  'Revision',
  'Sees',
  'Tools',
  'Called',
  'Attached',
  'Own processes',
  'Unread',
] as const

const numbers = ['Tools', 'Attached', 'Own processes', 'Unread'] as const

export function Clients({ status }: { readonly status: StatusReport }): JSX.Element {
  return (
    <section aria-label="Clients" class="view scrolls">
      <table>
        <caption>Clients</caption>
        <ColumnHeads names={columns} numbers={numbers} />
        <tbody>
          {status.clients.map((client, at) => (
            <tr key={at}>
              <th scope="row">
                {short(client.name ?? 'unnamed', 80)} <small>{short(client.version ?? '', 40)}</small>
              </th>
              <td class="whole">{short(client.revision, 40)}</td>
              <td class="sees">{`${client.schema}${client.view === undefined ? '' : `, ${short(client.view, 80)}`}`}</td>
              <td class="number">{client.tools ?? ''}</td>
              <td>
                <Called rows={callsOf(client, status.usage)} />
              </td>
              <td class="number">{`${agoText(status.now - client.connectedAt)} ago`}</td>
              <td class="number">{client.processes}</td>
              <td class="number">{bytesText(client.unreadBytes)}</td>
            </tr>
          ))}
        </tbody>
      </table>
      {status.clients.length === 0 ? <p>No client is attached.</p> : null}
    </section>
  )
}

/** Returns the calls of all clients with the name and the view of this client. */
function callsOf({ schema, name = '', view = '' }: ClientRow, usage: readonly UsageRow[]): UsageRow[] {
  return usage.filter((row) => row.schema === schema && row.client === name && row.view === view)
}

/** Lists the called tools, the most frequent first. */
function Called({ rows }: { readonly rows: readonly UsageRow[] }): JSX.Element | null {
  if (rows.length === 0) return null
  const calls = rows.reduce((sum, row) => sum + row.calls, 0)
  return (
    <details>
      <summary>{count(calls, 'call')}</summary>
      <ul class="called">
        {grouped(rows, 'tool').map(({ name, calls: times, errors }) => (
          <li key={name}>
            {`${short(name, 80)}: ${times.toLocaleString('en')}${errors === 0 ? '' : `, ${count(errors, 'error')} ✗`}`}
          </li>
        ))}
      </ul>
    </details>
  )
}
