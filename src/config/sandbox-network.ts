// The network that code of a sandbox may reach: a word, or the hosts that are named.

import type { SandboxNetwork } from '../upstream/contracts/sandbox-config.js'
import { type Kind, isObject, list, text } from './kinds.js'
import { whatItIs } from './problems.js'
import type { SandboxValues } from './sandbox-fields.js'
import { type FieldsOf, Section, field } from './section.js'

/** As it stands in a file. */
export type NetworkValue = 'none' | 'host' | AllowedNetwork

interface AllowedNetwork {
  readonly allow: readonly string[]
}

const label = '[A-Za-z0-9_](?:[A-Za-z0-9_\\-]{0,61}[A-Za-z0-9_])?'
/** A name that begins with a digit is an address. */
const lastLabel = '[A-Za-z](?:[A-Za-z0-9\\-]{0,61}[A-Za-z0-9])?'
const port = '(?:[1-9]\\d{0,3}|[1-5]\\d{4}|6[0-4]\\d{3}|65[0-4]\\d{2}|655[0-2]\\d|6553[0-5])'
const hostPattern = `^(?=[^:]{1,253}(?::|$))(?:\\*\\.)?(?:${label}\\.)+${lastLabel}(?::${port})?$`

export const hosts: Kind<readonly string[]> = list(
  text({
    pattern: hostPattern,
    wanted:
      'a name with a dot, such as "example.com", "*.example.org" or "api.example.com:8443"; letters beyond ASCII as xn--',
  }),
)

const allowFields: FieldsOf<AllowedNetwork> = {
  allow: field(
    hosts,
    [],
    'Hosts that code reaches over https://; "*." stands for every name below. Without a port: 443.',
  ),
}

const words = ['none', 'host'] as const
const wanted = 'one of "none", "host", or an object like { "allow": ["example.com"] }'

export const networkKind: Kind<NetworkValue> = {
  wanted,
  schema: {
    anyOf: [
      { enum: words },
      {
        type: 'object',
        properties: {
          allow: { description: allowFields.allow.about, ...allowFields.allow.kind.schema, minItems: 1 },
        },
        required: ['allow'],
      },
    ],
  },
  read: (value, spot) => {
    const word = words.find((each) => each === value)
    if (word !== undefined) return word
    if (!isObject(value)) spot.findings.problem(spot.path, whatItIs(value), `must be ${wanted}`)
    if (!isObject(value)) return undefined
    const section = Section.of(value, spot.path, spot.findings)
    if (section === undefined) return undefined
    const { allow } = section.readOnly(allowFields)
    if (!section.has('allow')) section.problem('allow', 'is missing', 'must be a list of hosts')
    else if (Array.isArray(section.raw('allow')) && allow.length === 0)
      section.problem('allow', 'names no host', 'name one, or set network to "none"')
    return { allow }
  },
}

/** The configuration of a microsandbox server decides about its network, so this file cannot promise it. */
export function sandboxNetwork(
  section: Section,
  { network, runtime, volumes }: Pick<SandboxValues, 'network' | 'runtime' | 'volumes'>,
): SandboxNetwork {
  if (runtime === 'microsandbox-server') {
    if (section.has('network') && network === 'none')
      section.problem(
        'network',
        'is "none"',
        'is not held by a microsandbox server: its own configuration decides; take the key out, or use another runtime',
      )
    if (volumes.length > 0)
      section.warn('volumes', 'are handed to the microsandbox server unchecked: it opens them by itself')
  }
  if (network === 'host')
    section.warn('network', 'is "host": code of a session reaches whatever this machine can reach')
  return typeof network === 'string' ? { kind: network } : { kind: 'allow', hosts: network.allow }
}
