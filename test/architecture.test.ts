// The rules of the architecture that no linter checks: which imports are allowed, and which code is confined to few
// places. ARCHITECTURE.md explains them. .oxlintrc.json has the rules of the linter.

import assert from 'node:assert'
import { describe, test } from 'node:test'
import { readSources } from './support/source-text.js'

const sources = readSources('src')

/**
 * The imports that each room may have, from the bottom to the top. Only type imports are allowed for rooms behind the
 * second bar. A room is a folder or a file of `src`, without the rooms that have their own row. `upstream/` with a
 * slash means every room whose name begins so.
 */
const rooms = table(`
  jsonrpc
  folder
  version
  limits                 | jsonrpc
  text                   | jsonrpc
  runtime                | text
  mcp                    | jsonrpc text
  calls                  | jsonrpc mcp runtime
  mcp/eras               | calls jsonrpc mcp text
  transports             | jsonrpc runtime text
  transports/http1       | jsonrpc runtime transports
  transports/http-client | jsonrpc mcp runtime text transports transports/http1
  transports/http-server | jsonrpc mcp mcp/eras runtime text transports transports/http1
  upstream/contracts     | jsonrpc mcp runtime text transports/http-client | calls mcp/eras
  upstream/process       | jsonrpc runtime text transports upstream/contracts | transports/http-client limits
  upstream/auth          | jsonrpc mcp runtime text transports/http-client upstream/contracts
  login                  | calls config jsonrpc mcp runtime secrets text transports/http-client transports/http1 upstream/contracts
  upstream/server        | calls jsonrpc mcp mcp/eras runtime text upstream/contracts | login transports/ upstream/process limits
  upstream/http          | jsonrpc mcp runtime text transports transports/http-client transports/http1 login upstream/auth upstream/contracts upstream/process | upstream/ limits
  kept                   | jsonrpc mcp runtime limits text | upstream/
  store                  | jsonrpc runtime text | transports/http-server
  upstream/kinds         | jsonrpc mcp runtime text folder transports/ login upstream/ sandbox | calls mcp/eras
  real-runtime           | runtime upstream/process
  config                 | folder mcp runtime text upstream/contracts | upstream/
  lock                   | jsonrpc mcp runtime text upstream/contracts | upstream/
  log                    | runtime text
  record                 | jsonrpc runtime text config
  events                 | | jsonrpc mcp runtime transports/ upstream/
  audit                  | jsonrpc log mcp runtime text | calls config events
  proxy/routing          | calls jsonrpc mcp runtime text | limits upstream/ mcp/eras
  proxy/input            | calls jsonrpc mcp runtime text | limits
  proxy/clients          | calls jsonrpc mcp mcp/eras runtime text proxy/input proxy/routing | events limits upstream/
  secrets                | config real-runtime runtime text
  policy                 | jsonrpc mcp runtime text proxy/input proxy/routing | calls store upstream/
  proxy                  | jsonrpc mcp mcp/eras runtime text config events kept limits lock policy real-runtime secrets transports/ upstream/ version proxy/ | calls store
  front-auth             | jsonrpc runtime text login transports/http-server transports/http1 | config upstream/contracts
  gateway                | front-auth jsonrpc kept mcp runtime text config events real-runtime store transports/ upstream/ version proxy/
  metrics                | events mcp runtime text config transports/http-server version | proxy/ upstream/
  index                  | jsonrpc runtime text config events gateway limits proxy/ real-runtime transports/ upstream/ version
  replay                 | ask jsonrpc mcp runtime text transports/ folder log real-runtime cli
  inspector              | jsonrpc mcp runtime text folder gateway record version transports/http-server transports/http1 | events proxy/ upstream/
  ui                     | | inspector
  ask                    | index jsonrpc mcp text transports/ version
  cli                    | ask front-auth audit index jsonrpc kept limits mcp metrics runtime text config folder gateway lock log login proxy/ real-runtime record replay sandbox secrets upstream/ version cli/clients inspector store
  cli/clients            | config mcp runtime text
  servers                | text
  sandbox                | jsonrpc mcp runtime text folder log real-runtime transports/ version config sandbox/egress upstream/contracts | upstream/
  sandbox/egress         | runtime text
  sandbox/guest          | runtime sandbox
`)

/** Packages, and the builtins with effects outside of the process, with the rooms that use them. */
const users = table(`
  @opentelemetry         | metrics
  @redis                 | store
  ajv                    | mcp
  chalk                  | log
  cross-spawn            | upstream/process
  eventemitter3          | events
  fastest-levenshtein    | text
  google-auth-library    | upstream/auth
  ipaddr.js              | text
  jose                   | front-auth
  jsonc-parser           | config
  mri                    | cli
  oauth4webapi           | login
  p-queue                | proxy/clients upstream/ sandbox
  preact                 | ui
  smol-toml              | cli/clients
  yaml                   | cli/clients
  node:child_process     | login upstream/process sandbox/
  node:crypto            | audit cli cli/clients config front-auth gateway kept lock login metrics policy proxy/ runtime sandbox store transports/http-server inspector
  node:dns               | login sandbox/
  node:fs                | cli cli/clients config kept lock log login record replay runtime secrets servers store upstream/ sandbox/ inspector
  node:http              | login metrics sandbox
  node:https             | sandbox
  node:net               | gateway login replay runtime transports/ upstream/ sandbox/
  node:tls               | transports/http1
`)

interface Row {
  readonly values: string
  readonly types: string
}

/** The number of lines of each room. A commit that raises a number names the feature in its message. */
const linesMax = table(`
  jsonrpc                | 2578
  folder                 | 5
  version                | 2
  text                   | 609
  runtime                | 883
  mcp                    | 3255
  calls                  | 705
  mcp/eras               | 1047
  transports             | 861
  transports/http1       | 1427
  transports/http-client | 1748
  transports/http-server | 3663
  upstream/contracts     | 737
  upstream/process       | 1152
  upstream/auth          | 330
  login                  | 2456
  upstream/server        | 4555
  upstream/http          | 225
  kept                   | 434
  store                  | 1474
  upstream/kinds         | 598
  limits                 | 167
  real-runtime           | 47
  config                 | 4245
  lock                   | 621
  log                    | 480
  record                 | 251
  events                 | 236
  audit                  | 166
  proxy/routing          | 1825
  proxy/input            | 798
  proxy/clients          | 1665
  secrets                | 339
  policy                 | 418
  proxy                  | 897
  front-auth             | 1043
  gateway                | 1439
  metrics                | 900
  index                  | 49
  replay                 | 1863
  inspector              | 1581
  ui                     | 1761
  ask                    | 352
  cli                    | 5047
  cli/clients            | 1379
  servers                | 277
  sandbox                | 5719
  sandbox/egress         | 595
  sandbox/guest          | 481
`)

function table(text: string): ReadonlyMap<string, Row> {
  const rows = text.trim().split('\n')
  return new Map(
    rows.map((row) => {
      const [name = '', values = '', types = ''] = row.split('|').map((cell) => cell.trim())
      return [name, { values, types }]
    }),
  )
}

function roomOf(path: string): string {
  const name = path.replace(/^src\//, '').replace(/\.ts$/, '')
  const fits = [...rooms.keys()].filter((room) => name === room || name.startsWith(`${room}/`))
  return fits.sort((one, other) => other.length - one.length)[0] ?? 'none'
}

function isListed(room: string, list: string): boolean {
  return list.split(' ').some((each) => each === room || (each.endsWith('/') && `${room}/`.startsWith(each)))
}

function packageOf(specifier: string): string {
  return specifier.split('/')[0] ?? specifier
}

describe('a room', () => {
  test('has no more lines than its row says', () => {
    const lines = new Map<string, number>()
    for (const { path, text } of sources)
      lines.set(roomOf(path), (lines.get(roomOf(path)) ?? 0) + text.split('\n').length - 1)
    const longer = [...lines].filter(([room, count]) => count > Number(linesMax.get(room)?.values ?? 0))
    assert.deepEqual(longer, [], 'lower the number of a room that shrinks; a room that grows needs a feature')
  })
})

describe('imports', () => {
  test('go from each room to the rooms below it', () => {
    const forbidden = sources.flatMap(({ path, imports }) => {
      const room = roomOf(path)
      const { values = '', types = '' } = rooms.get(room) ?? {}
      return imports
        .filter(({ file }) => file !== undefined && roomOf(file) !== room)
        .filter(({ file = '', isType }) => !isListed(roomOf(file), isType ? `${values} ${types}` : values))
        .map(({ specifier }) => `${path}: ${specifier}`)
    })
    assert.deepEqual(forbidden, [], 'a room may import what its row in `rooms` lists')
  })

  test('of HTTP/1.1 go through its two doors', () => {
    const strays = sources
      .filter(({ path }) => roomOf(path) !== 'transports/http1')
      .flatMap(({ path, imports }) => imports.map(({ file = '' }) => ({ path, file })))
      .filter(({ file }) => file.includes('/http1/') && !/\/(?:client|server)\.ts$/.test(file))
    assert.deepEqual(strays, [], 'what another room needs is exported by `client.ts` or `server.ts`')
  })

  test('of packages and of the system stand in few rooms', () => {
    const strays = sources.flatMap(({ path, imports }) =>
      imports
        .filter(({ file }) => file === undefined)
        .map(({ specifier }) => packageOf(specifier))
        .filter((name) => users.has(name) || !name.startsWith('node:'))
        .filter((name) => !isListed(roomOf(path), users.get(name)?.values ?? ''))
        .map((name) => `${path}: ${name}`),
    )
    assert.deepEqual(strays, [], 'a package is used by the rooms in its row of `users`')
  })

  test('of programs inside a sandbox are few', () => {
    const shared = sources
      .filter(({ path }) => roomOf(path) === 'sandbox/guest')
      .flatMap(({ imports }) => imports.flatMap(({ file }) => file ?? []))
      .filter((file) => roomOf(file) !== 'sandbox/guest')
    assert.deepEqual(
      [...new Set(shared)],
      ['src/sandbox/agent-messages.ts', 'src/sandbox/processes.ts', 'src/runtime/process-table.ts'],
    )
  })
})

interface Confined {
  readonly what: string
  /** Matched against code without comments and strings. With `inTexts`, strings are included. */
  readonly pattern: RegExp
  readonly inTexts?: boolean
  /** Files, and folders with a slash. */
  readonly places: readonly string[]
}

/** Code that is allowed only in these places. */
const confined: readonly Confined[] = [
  {
    what: 'JSON.parse and JSON.stringify, which make no message that is forwarded',
    pattern: /\bJSON\s*\.\s*(?:parse|stringify)\b/,
    places: [
      // Parses one string or small value at a time, for all other modules.
      'src/jsonrpc/text.ts',
      // Finds the common form of all spellings of an id. The id is kept as written.
      'src/jsonrpc/request-id.ts',
      // Checks arguments against schemas. The original bytes are forwarded.
      'src/mcp/arguments/',
      // These folders handle no forwarded messages.
      'src/ask/',
      'src/cli/',
      'src/config/',
      'src/inspector/',
      'src/kept/',
      'src/upstream/kept/',
      'src/log/',
      'src/metrics/',
      'src/record/',
      'src/replay/',
      'src/secrets/',
      'src/servers/',
      'src/sandbox/',
      'src/ui/',
    ],
  },
  {
    what: 'bytes that may be sent are made by splice and build alone',
    pattern: /\bnew Message\b/,
    places: ['src/jsonrpc/'],
  },
  {
    what: 'a connection is written to by its peer alone, so that each response leaves where its request came',
    pattern: /\bconnection\.send(?:Parts|Spliced)?\(/,
    places: ['src/jsonrpc/peer.ts', 'src/ask/', 'src/replay/'],
  },
  {
    what: 'the wire tap is fed where bytes are read and written, below every edit',
    pattern: /#sink\?\.wire\?\.\(/,
    places: ['src/transports/'],
  },
  {
    what: 'methods of MCP are unknown to JSON-RPC',
    pattern:
      /['"`](?:initialize['"`]|(?:notifications|tools|prompts|resources|completion|sampling|elicitation)\/)/,
    inTexts: true,
    places: sources.map(({ path }) => path).filter((path) => roomOf(path) !== 'jsonrpc'),
  },
  {
    what: 'a revision date stands in the record of that revision',
    pattern: /['"`][^'"`\n]*\b20\d\d-\d\d-\d\d\b/,
    inTexts: true,
    places: ['src/mcp/revisions.ts', 'src/servers/'],
  },
  {
    what: 'the legs of an era stand in one room, and are chosen in one place',
    pattern: /\b(?:serverOpener|StatelessWriter|new ClientLeg)\b/,
    places: ['src/mcp/eras/', 'src/proxy/'],
  },
  {
    what: 'error numbers of JSON-RPC and MCP stand in one table',
    pattern: /-32[_]?[0-7]\d\d\b/,
    inTexts: true,
    places: ['src/mcp/error-codes.ts', 'src/servers/'],
  },
]

describe('what may stand only in few places', () => {
  for (const { what, pattern, inTexts, places } of confined) {
    test(what, () => {
      const found = sources.filter(({ code, bare }) => pattern.test(inTexts === true ? code : bare))
      const strays = found.filter(({ path }) => !places.some((place) => `${path}/`.startsWith(place)))
      assert.deepEqual(
        strays.map(({ path }) => path),
        [],
      )
    })
  }
})

describe('every file', () => {
  test('has no class that inherits from anything but Error', () => {
    const heirs = sources.flatMap(({ path, bare }) =>
      [...bare.matchAll(/\bclass (\w+)(?:<[^{]*>)? extends (?!Error\b)/g)].map(
        ([, name]) => `${path}: ${name}`,
      ),
    )
    assert.deepEqual(heirs, [])
  })

  test('has no state of its own', () => {
    const states = sources.flatMap(({ path, bare }) => moduleState(bare).map((name) => `${path}: ${name}`))
    assert.deepEqual(states, [])
  })
})

const changers = '(?:set|add|delete|clear|push|pop|shift|unshift|splice|sort|reverse|fill)'

/** Mutable state of a module: variables, and constants that are changed or exported. */
function moduleState(bare: string): string[] {
  const variables = bare.matchAll(/^(?:export )?(?:let|var) (\w+)/gm)
  const given = bare.matchAll(/^export const (\w+)(?:: (?!Readonly)[^=]*)? = new (?:Weak)?(?:Map|Set)\b/gm)
  const changed = [...bare.matchAll(/^(?:export )?const (\w+)/gm)].filter(([, name]) =>
    new RegExp(
      String.raw`(?<![.#\w])${name}(?:\.${changers}\(|(?:\.\w+|\[[^\]]*\])\s*(?:[-+*/|&?]*=(?![=>])|\+\+|--))`,
    ).test(bare),
  )
  return [...new Set([...variables, ...given, ...changed].map(([, name]) => name ?? ''))]
}

describe('no test', () => {
  test('asserts how long something took by the clock', () => {
    const difference = String.raw`(?:performance|Date)\.now\(\)\s*-\s*\w+(?!\s*\+)`
    const timed = readSources('test').filter(({ bare }) => {
      const names = [...bare.matchAll(new RegExp(String.raw`\bconst (\w+) = ${difference}`, 'g'))]
      const compared = [difference, ...names.map(([, name]) => String.raw`\b${name}`)].join('|')
      return new RegExp(String.raw`\bassert\b[^\n]*?(?:${compared})\)*\s*[<>/]`).test(bare)
    })
    assert.deepEqual(
      timed.map(({ path }) => path),
      [],
    )
  })
})
