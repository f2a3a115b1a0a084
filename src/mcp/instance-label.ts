// The name of an instance of the proxy, in what clients send back to it: they may send it to another instance.

const LABEL = '[a-z0-9-]{1,32}'
const beginning = new RegExp(`^"?(${LABEL})\\.`)
const ownState = new RegExp(`^mcps-proxy\\.(?:(${LABEL})\\.)?[\\w-]{22}$`)

/** Of the id of a session, an event or a question that begins with it; an id may be its JSON text. */
export function labelOf(id: string): string | undefined {
  return beginning.exec(id)?.[1]
}

/** A `requestState` of the proxy itself. */
export function ownStateOf(label: string | undefined, secret: string): string {
  return `mcps-proxy.${label === undefined ? '' : `${label}.`}${secret}`
}

export function isOwnState(state: string): boolean {
  return ownState.test(state)
}

export function labelOfState(state: string): string | undefined {
  return ownState.exec(state)?.[1]
}
