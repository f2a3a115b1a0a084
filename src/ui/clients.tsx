// The clients that are attached, and entries for the files of others.

import type { JSX } from 'preact'
import type { StatusReport } from '../inspector/protocol.js'
import { ColumnHeads } from './column-heads.js'
import { Copy } from './copy.js'
import { agoText, bytesText, short } from './text.js'

const columns = ['Client', 'Revision', 'Sees', 'Tools', 'Attached', 'Own processes', 'Unread'] as const

export function Clients({ status }: { readonly status: StatusReport }): JSX.Element {
  return (
    <section aria-label="Clients" class="view scrolls">
      <table>
        <caption>Clients</caption>
        <ColumnHeads names={columns} />
        <tbody>
          {status.clients.map((client, at) => (
            <tr key={at}>
              <th scope="row">
                {short(client.name ?? 'unnamed', 80)} <small>{short(client.version ?? '', 40)}</small>
              </th>
              <td>{short(client.revision, 40)}</td>
              <td>{`${client.schema}${client.view === undefined ? '' : `, ${short(client.view, 80)}`}`}</td>
              <td class="number">{client.tools ?? ''}</td>
              <td class="number">{`${agoText(status.now - client.connectedAt)} ago`}</td>
              <td class="number">{client.processes}</td>
              <td class="number">{bytesText(client.unreadBytes)}</td>
            </tr>
          ))}
        </tbody>
      </table>
      {status.clients.length === 0 ? <p>No client is attached.</p> : null}
      {status.entries.map(({ title, server }) => {
        const text = JSON.stringify({ mcpServers: { 'mcps-proxy': server } }, undefined, 2)
        return (
          <section key={title} aria-label={title}>
            <h2>{`For the file of a client: ${short(title, 80)}`}</h2>
            <pre class="snippet">{text}</pre>
            <Copy what={`entry of ${short(title, 80)}`} text={text} />
          </section>
        )
      })}
    </section>
  )
}
