// Servers of a configuration that are its own HTTP front, and lead back to the schema that they stand in.
//
// Such a schema would list its own tools as those of a server, and theirs again, without end. A client's file that is
// moved as it is may name the front. One schema may have another one as a server, as long as that does not lead back.

import { ConfigError, type Configuration, enabledSchemas } from '../config/config.js'
import { isRemote } from '../upstream/contracts/server-config.js'
import { isLoopback } from '../transports/http-server/host.js'
import { schemaAt } from './routes.js'

export interface FrontAddress {
  readonly host: string
  /** 0 is any free one, which no configuration can name. */
  readonly port: number
}

/** @throws ConfigError (`CONFIG_LOOP`) when an enabled schema would be a server of itself */
export function refuseOwnAddress(config: Configuration, front: FrontAddress): void {
  const problems = enabledSchemas(config).flatMap((schema) =>
    linksOf(config, schema, front)
      .filter(({ leadsTo }) => reaches(config, front, leadsTo, schema))
      .map(({ name, url }) => ({
        path: `server "${name}" of schema "${schema}"`,
        problem: `is this program's own address (${new URL(url).origin}) and leads back to that schema, which would list its tools again without end`,
        hint: 'take it out of the file',
      })),
  )
  if (problems.length > 0) throw new ConfigError('CONFIG_LOOP', config.source, problems)
}

/** A server that is a schema of this front. */
interface OwnLink {
  readonly name: string
  readonly url: string
  readonly leadsTo: string
}

function linksOf(config: Configuration, schema: string, front: FrontAddress): OwnLink[] {
  const servers = config.schemas.get(schema)?.servers ?? []
  return servers.filter(isRemote).flatMap(({ name, url, disabled, unavailable }) => {
    if (disabled || unavailable !== undefined) return []
    const leadsTo = ownSchema(new URL(url), front)
    return leadsTo === undefined ? [] : [{ name, url, leadsTo }]
  })
}

/** Whether `from` is `to`, or has it as a server, directly or through others. */
function reaches(config: Configuration, front: FrontAddress, from: string, to: string): boolean {
  const seen = new Set([from])
  for (const schema of seen) for (const { leadsTo } of linksOf(config, schema, front)) seen.add(leadsTo)
  return seen.has(to)
}

/** The schema that an address is of; undefined where it is of none of this front. */
function ownSchema({ protocol, hostname, port, pathname }: URL, front: FrontAddress): string | undefined {
  const host = hostname.replace(/^\[|\]$/g, '')
  const isHere = Number(port || 80) === front.port && (isLoopback(host) || host === front.host)
  return protocol === 'http:' && isHere ? schemaAt(pathname) : undefined
}
