// Notifications of a server that name no client, and the clients that get them.

import type { NotificationFrame } from '../../jsonrpc/frame.js'
import type { Call } from '../../mcp/call.js'
import type { ListKind, ServerNotificationRow } from '../../mcp/methods/method-row.js'
import type { LaneClients } from './lane-clients.js'
import type { Link } from './link.js'

export interface NoticesParts {
  readonly audience: LaneClients
  refresh(link: Link, lists: readonly ListKind[]): void
  /** What belongs to no one client is kept here. */
  kept(message: string): void
}

/** Passes notifications to those they belong to, and to no other. */
export class Notices {
  readonly #parts: NoticesParts

  constructor(parts: NoticesParts) {
    this.#parts = parts
  }

  told(
    frame: NotificationFrame,
    row: ServerNotificationRow | undefined,
    link: Link,
    during: Call | undefined,
  ): void {
    switch (row?.does) {
      case 'list-changed':
        return this.#parts.refresh(link, row.lists)
      case 'updated':
        return this.#updated(frame)
      case 'cancel':
        for (const client of this.#parts.audience) client.withdraw(frame, link)
        return
      case 'log':
        return this.#logged(frame, during)
      case 'progress':
      case 'owner':
      case undefined:
        return this.#toOnlyClient(frame, during)
    }
  }

  #updated(frame: NotificationFrame): void {
    const uri = frame.params.members.string('uri')
    if (uri === undefined) return
    for (const client of this.#parts.audience.followersOf(uri)) client.tell(frame, [], undefined)
  }

  #logged(frame: NotificationFrame, during: Call | undefined): void {
    const client = during?.client ?? this.#parts.audience.only
    if (client === undefined) this.#parts.kept('a log message that belongs to no one client')
    else client.log(frame, during)
  }

  #toOnlyClient(frame: NotificationFrame, during: Call | undefined): void {
    const client = during?.client ?? this.#parts.audience.only
    if (client === undefined) this.#parts.kept(`${frame.method} belongs to no one client`)
    else client.tell(frame, [], during)
  }
}
