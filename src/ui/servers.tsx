// The servers of every schema, and two buttons for each.

import type { JSX, RefObject } from 'preact'
import { useRef, useState } from 'preact/hooks'
import type { ServerRow, StatusReport } from '../inspector/protocol.js'
import { api } from './api.js'
import { ColumnHeads } from './column-heads.js'
import { bytesText, short } from './text.js'

interface ServersProps {
  readonly status: StatusReport
  readonly refresh: () => void
}

interface Wanted {
  readonly server: ServerRow
  readonly action: 'restart' | 'stop'
}

const columns = ['Server', 'State', 'Tools', 'Calls', 'Restarts', 'Processes', 'Memory', 'Actions'] as const

const numbers = ['Tools', 'Calls', 'Restarts', 'Memory'] as const

export function Servers({ status, refresh }: ServersProps): JSX.Element {
  const dialog = useRef<HTMLDialogElement>(null)
  const [wanted, setWanted] = useState<Wanted>()
  const [said, setSaid] = useState('')
  const ask = (next: Wanted): void => {
    setWanted(next)
    dialog.current?.showModal()
  }
  const act = async ({ server: { schema, name }, action }: Wanted): Promise<void> => {
    setSaid(`${action} ${name}: under way`)
    try {
      await api('/ui/servers', { method: 'POST', body: JSON.stringify({ schema, server: name, action }) })
      setSaid(`${action} ${name}: done`)
    } catch (error) {
      setSaid(`${action} ${name}: ${String(error)}`)
    }
    refresh()
  }
  return (
    <section aria-label="Servers" class="view scrolls">
      <p role="status">{short(said, 300)}</p>
      <table>
        <caption>Servers</caption>
        <ColumnHeads names={columns} numbers={numbers} />
        <tbody>
          {status.servers.map((server) => (
            <ServerLine key={`${server.schema}/${server.name}`} server={server} ask={ask} />
          ))}
        </tbody>
      </table>
      <Question dialog={dialog} wanted={wanted} act={(next) => void act(next)} />
    </section>
  )
}

interface QuestionProps {
  readonly dialog: RefObject<HTMLDialogElement | null>
  readonly wanted: Wanted | undefined
  readonly act: (wanted: Wanted) => void
}

function Question({ dialog, wanted, act }: QuestionProps): JSX.Element {
  const close = (): void => dialog.current?.close()
  const confirm = (): void => {
    close()
    if (wanted !== undefined) act(wanted)
  }
  return (
    <dialog ref={dialog} aria-labelledby="question">
      <p id="question">{wanted === undefined ? '' : question(wanted)}</p>
      <p class="filters">
        <button type="button" onClick={close}>
          Cancel
        </button>
        <button type="button" onClick={confirm}>
          {wanted?.action === 'stop' ? 'Stop it' : 'Restart it'}
        </button>
      </p>
    </dialog>
  )
}

function question({ action, server: { name, inFlight } }: Wanted): string {
  const calls = inFlight === 0 ? '' : ` Its ${inFlight} calls in progress may finish for a moment.`
  return action === 'stop'
    ? `Stop ${short(name, 100)}? Its tools leave the lists of every client until it is restarted.${calls}`
    : `Restart ${short(name, 100)}? A new process takes the calls from then on.${calls}`
}

interface ServerLineProps {
  readonly server: ServerRow
  readonly ask: (wanted: Wanted) => void
}

function notesOf({ changes, leftOut }: ServerRow): string[] {
  return [
    changes === undefined ? [] : `${changes} ${changes === 1 ? 'change' : 'changes'} against mcps.lock`,
    leftOut === undefined ? [] : `${leftOut} not listed, because clients refuse such items`,
  ].flat()
}

function ServerLine({ server, ask }: ServerLineProps): JSX.Element {
  const {
    name,
    schema,
    kind,
    state,
    error,
    tools,
    inFlight,
    queued,
    slots,
    restarts,
    pids,
    memoryBytes,
    revision,
  } = server
  const calls = `${inFlight}${slots === 0 ? '' : ` of ${slots}`}${queued > 0 ? `, ${queued} wait` : ''}`
  return (
    <tr>
      <th scope="row">
        {short(name, 80)}{' '}
        <small>{`${schema === 'default' ? '' : `${schema}, `}${kind}${revision === undefined ? '' : `, ${revision}`}`}</small>
      </th>
      <td>
        <span class={`state ${state}`}>{state}</span>
        {error === undefined ? null : <div class="why">{short(error, 500)}</div>}
        {notesOf(server).map((note) => (
          <div class="why">{note}</div>
        ))}
      </td>
      <td class="number">{tools}</td>
      <td class="number">{calls}</td>
      <td class="number">{restarts}</td>
      <td>{pids.join(', ')}</td>
      <td class="number">{memoryBytes === undefined ? '' : bytesText(memoryBytes)}</td>
      <td class="actions">
        <button
          type="button"
          onClick={() => ask({ server, action: 'restart' })}
          aria-label={`Restart ${short(name, 80)}`}
        >
          Restart
        </button>{' '}
        <button
          type="button"
          onClick={() => ask({ server, action: 'stop' })}
          aria-label={`Stop ${short(name, 80)}`}
        >
          Stop
        </button>
      </td>
    </tr>
  )
}
