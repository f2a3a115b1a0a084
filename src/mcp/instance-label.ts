// The label of a proxy instance in ids and states that clients send back, perhaps to another instance.

const LABEL = '[a-z0-9-]{1,32}'
const beginning = new RegExp(`^"?(${LABEL})\\.`)
const ownState = new RegExp(`^mcps-proxy\\.(?:(${LABEL})\\.)?[\\w-]{22}$`)

/** The label at the beginning of the id of a session, an event or a question; an id may be its JSON text. */
export function labelOf(id: string): string | undefined {
  return beginning.exec(id)?.[1]
}

/** Builds a `requestState` of the proxy itself. */
export function ownStateOf(label: string | undefined, secret: string): string {
  return `mcps-proxy.${label === undefined ? '' : `${label}.`}${secret}`
}

export function isOwnState(state: string): boolean {
  return ownState.test(state)
}

export function labelOfState(state: string): string | undefined {
  return ownState.exec(state)?.[1]
}
