// The architecture, held by the text of the sources: who may import what, and
// what may stand only in few places. ARCHITECTURE.md says the same for people.
//
// Every exception has a reason here, and one that is no longer needed fails too.

import assert from 'node:assert'
import { readFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { describe, test } from 'node:test'
import { editReasons } from '../src/index.js'
import {
  clockAssertions,
  errorNumbers,
  heirs,
  joiningPatterns,
  protocolWords,
  uncheckedClaims,
} from './source-rules.js'
import { readSource, readSources, root, topLevel } from './source-text.js'
import type { SourceFile } from './source-text.js'

const sources = readSources('src')

interface Layer {
  /** Folders (`src/jsonrpc/`), the files directly in one (`src/proxy/*`), or a file. The first layer that fits counts. */
  readonly files: readonly string[]
  readonly project: readonly string[]
  /** May be named by `import type` alone. */
  readonly types?: readonly string[]
  readonly modules: readonly string[]
}

/** Who may import what, besides its own files; from the bottom to the top. */
const layers: readonly Layer[] = [
  { files: ['src/jsonrpc/fast/'], project: ['src/jsonrpc/'], modules: ['node:buffer'] },
  { files: ['src/jsonrpc/'], project: ['src/jsonrpc/fast/'], modules: ['node:buffer'] },
  // The one file that is no interface: what is above asks the system for processes in the same words.
  { files: ['src/runtime/process-table.ts'], project: [], modules: ['node:fs', 'node:process'] },
  { files: ['src/runtime/'], project: [], modules: ['node:net', 'node:stream'] },
  { files: ['src/text/'], project: ['src/jsonrpc/text.ts'], modules: [] },
  { files: ['src/mcp/'], project: ['src/jsonrpc/'], modules: ['ajv'] },
  { files: ['src/transports/*'], project: ['src/jsonrpc/', 'src/runtime/'], modules: ['node:buffer'] },
  {
    files: ['src/transports/stdio/', 'src/transports/sse/', 'src/transports/http1/'],
    project: ['src/jsonrpc/', 'src/runtime/', 'src/transports/*'],
    modules: ['node:buffer', 'node:stream'],
  },
  {
    files: ['src/transports/http-client/'],
    project: [
      'src/jsonrpc/',
      'src/runtime/',
      'src/text/',
      'src/transports/*',
      'src/transports/http1/',
      'src/transports/sse/',
    ],
    modules: ['node:buffer', 'node:net', 'node:stream', 'node:tls', 'node:zlib'],
  },
  {
    files: ['src/transports/http-server/'],
    project: ['src/jsonrpc/', 'src/runtime/', 'src/transports/*', 'src/transports/http1/'],
    modules: ['node:buffer', 'node:net', 'node:stream'],
  },
  {
    files: ['src/upstream/contracts/'],
    project: ['src/jsonrpc/', 'src/mcp/', 'src/runtime/', 'src/text/', 'src/transports/http-client/'],
    modules: ['node:stream'],
  },
  {
    files: ['src/upstream/process/'],
    project: [
      'src/jsonrpc/',
      'src/runtime/',
      'src/text/',
      'src/transports/stdio/',
      'src/upstream/contracts/',
    ],
    types: ['src/transports/http-client/'],
    modules: ['node:child_process', 'node:fs', 'node:fs/promises', 'node:net', 'node:stream'],
  },
  {
    files: ['src/upstream/auth/'],
    project: [
      'src/jsonrpc/',
      'src/mcp/',
      'src/runtime/',
      'src/text/',
      'src/transports/http-client/',
      'src/upstream/contracts/',
    ],
    modules: ['google-auth-library'],
  },
  {
    files: ['src/upstream/pool/'],
    project: ['src/jsonrpc/', 'src/mcp/', 'src/runtime/', 'src/text/', 'src/upstream/contracts/'],
    types: ['src/transports/', 'src/upstream/process/'],
    modules: ['p-queue'],
  },
  {
    files: ['src/upstream/http/'],
    project: [
      'src/jsonrpc/',
      'src/mcp/',
      'src/runtime/',
      'src/text/',
      'src/transports/http-client/',
      'src/upstream/auth/',
      'src/upstream/contracts/',
    ],
    types: ['src/upstream/pool/'],
    modules: ['node:fs', 'node:net'],
  },
  {
    files: ['src/upstream/kinds/'],
    // The sandbox is loaded by the first connection to it.
    project: [
      'src/jsonrpc/',
      'src/mcp/',
      'src/sandbox/service.ts',
      'src/text/',
      'src/transports/',
      'src/upstream/',
    ],
    modules: [],
  },
  // Programs inside a machine, which share nothing with the proxy but the format of what they say to it.
  {
    files: ['src/sandbox/guest/'],
    project: ['src/sandbox/frames.ts'],
    modules: [
      'node:buffer',
      'node:child_process',
      'node:fs',
      'node:inspector',
      'node:module',
      'node:net',
      'node:path',
      'node:process',
      'node:stream',
      'node:util',
      'node:vm',
    ],
  },
  // Processes around WebAssembly, which share with the programs inside how they write.
  {
    files: ['src/sandbox/wasm/'],
    project: ['src/sandbox/guest/write-fully.ts'],
    modules: ['@bjorn3', '@jitl', 'node:buffer', 'node:fs', 'node:process', 'quickjs-emscripten-core'],
  },
  // What programs inside reach of the network.
  {
    files: ['src/sandbox/egress/'],
    project: ['src/runtime/', 'src/transports/http1/'],
    modules: ['node:buffer', 'node:dns/promises', 'node:net', 'node:os', 'node:stream'],
  },
  // Time and processes come from the runtime; the files of sessions are on the real file system.
  {
    files: ['src/sandbox/'],
    project: [
      // The programs for the inside lie beside the compiled program.
      'src/folder.ts',
      'src/version.ts',
      'src/jsonrpc/',
      'src/mcp/',
      'src/runtime/',
      'src/text/',
    ],
    types: ['src/upstream/contracts/'],
    modules: [
      'node:buffer',
      'node:crypto',
      'node:fs',
      'node:fs/promises',
      'node:http',
      'node:https',
      'node:os',
      'node:path',
      'node:process',
      'node:stream',
      'node:stream/consumers',
      'microsandbox',
      'node:string_decoder',
    ],
  },
  // A program of its own, which happens to be shipped with the proxy.
  { files: ['src/servers/'], project: [], modules: ['node:events', 'node:fs'] },
  // Where the program lies, bundled or not: beside it are the bundled servers.
  { files: ['src/folder.ts'], project: [], modules: ['node:path', 'node:url'] },
  { files: ['src/version.ts'], project: [], modules: [] },
  {
    files: ['src/limits.ts'],
    project: ['src/jsonrpc/'],
    types: ['src/proxy/guests/', 'src/proxy/input/', 'src/transports/', 'src/upstream/'],
    modules: [],
  },
  {
    files: ['src/real-runtime.ts'],
    project: ['src/upstream/process/'],
    types: ['src/runtime/'],
    modules: [],
  },
  {
    files: ['src/config/'],
    project: ['src/folder.ts', 'src/mcp/revisions.ts', 'src/text/'],
    types: ['src/runtime/', 'src/upstream/contracts/'],
    modules: ['node:buffer', 'node:fs', 'node:os', 'node:path', 'node:process', 'node:url'],
  },
  {
    files: ['src/log/'],
    project: ['src/text/'],
    types: ['src/runtime/'],
    modules: ['chalk', 'node:fs', 'node:fs/promises', 'node:path'],
  },
  {
    files: ['src/record/'],
    project: ['src/jsonrpc/', 'src/runtime/process-table.ts', 'src/text/', 'src/config/problems.ts'],
    modules: ['node:buffer', 'node:fs', 'node:fs/promises', 'node:os', 'node:path', 'node:process'],
  },
  {
    files: ['src/kept/'],
    project: ['src/jsonrpc/', 'src/mcp/lists.ts', 'src/limits.ts'],
    types: ['src/mcp/methods/', 'src/runtime/', 'src/upstream/contracts/'],
    modules: ['node:buffer', 'node:crypto', 'node:fs', 'node:fs/promises', 'node:path', 'node:process'],
  },
  {
    files: ['src/events/'],
    project: [],
    types: ['src/runtime/', 'src/transports/', 'src/upstream/'],
    modules: ['eventemitter3'],
  },
  {
    files: ['src/proxy/routing/'],
    project: ['src/jsonrpc/', 'src/mcp/', 'src/runtime/', 'src/text/'],
    types: ['src/upstream/contracts/'],
    modules: [],
  },
  {
    files: ['src/proxy/input/'],
    project: ['src/jsonrpc/', 'src/mcp/', 'src/runtime/'],
    modules: ['node:crypto'],
  },
  {
    files: ['src/proxy/session/'],
    project: ['src/jsonrpc/', 'src/mcp/', 'src/runtime/', 'src/proxy/input/'],
    types: ['src/events/', 'src/limits.ts', 'src/proxy/routing/'],
    modules: [],
  },
  {
    files: ['src/proxy/guests/'],
    project: ['src/jsonrpc/', 'src/mcp/', 'src/runtime/', 'src/proxy/input/', 'src/proxy/routing/'],
    modules: [],
  },
  {
    files: ['src/proxy/'],
    project: [
      'src/config/config.ts',
      'src/events/',
      'src/jsonrpc/',
      'src/kept/',
      'src/limits.ts',
      'src/mcp/',
      'src/real-runtime.ts',
      'src/runtime/',
      'src/transports/',
      'src/upstream/',
      'src/version.ts',
    ],
    modules: [],
  },
  // The one place where the HTTP front gets ids and compares secrets.
  {
    files: ['src/gateway/http-front.ts'],
    project: [
      'src/config/config.ts',
      'src/jsonrpc/',
      'src/mcp/',
      'src/runtime/',
      'src/transports/',
      'src/upstream/process/descriptor-room.ts',
    ],
    modules: ['node:crypto'],
  },
  {
    files: ['src/gateway/'],
    project: [
      'src/config/config.ts',
      'src/events/',
      'src/jsonrpc/',
      'src/mcp/',
      'src/proxy/',
      'src/real-runtime.ts',
      'src/runtime/',
      'src/text/',
      'src/transports/http-server/',
      'src/upstream/',
      'src/version.ts',
    ],
    modules: [],
  },
  // The public surface.
  {
    files: ['src/index.ts'],
    project: [
      'src/config/config.ts',
      'src/events/',
      'src/gateway/http.ts',
      'src/jsonrpc/',
      'src/limits.ts',
      'src/proxy/',
      'src/real-runtime.ts',
      'src/runtime/',
      'src/transports/',
      'src/upstream/contracts/',
      'src/version.ts',
    ],
    modules: [],
  },
  {
    files: ['src/replay/'],
    project: [
      'src/jsonrpc/',
      'src/mcp/error-codes.ts',
      'src/mcp/request-fields.ts',
      'src/runtime/',
      'src/text/',
      'src/transports/',
      'src/folder.ts',
      'src/log/log.ts',
      'src/real-runtime.ts',
      'src/cli/children.ts',
      'src/cli/say.ts',
    ],
    modules: [
      'node:fs/promises',
      'node:http',
      'node:https',
      'node:net',
      'node:os',
      'node:path',
      'node:process',
    ],
  },
  {
    files: ['src/cli.ts', 'src/cli/'],
    project: [
      'src/index.ts',
      'src/config/config.ts',
      // How a place in the file is written, for warnings that concern one schema.
      'src/config/problems.ts',
      // Every schema on HTTP; no part of the library.
      'src/gateway/gateway.ts',
      // Starts children while the rest is loaded.
      'src/upstream/process/head-start.ts',
      // For --check.
      'src/proxy/kept-report.ts',
      'src/upstream/http/way-troubles.ts',
      // One server, started to see whether it works.
      'src/proxy/trial.ts',
      // One server in place of a configuration.
      'src/proxy/remote.ts',
      'src/log/log.ts',
      // Made before the proxy is loaded, and closed after it.
      'src/real-runtime.ts',
      // Whether code can be run, before a sandbox is served.
      'src/sandbox/readiness.ts',
      'src/text/',
      'src/version.ts',
    ],
    types: ['src/upstream/contracts/'],
    modules: ['mri', 'node:fs', 'node:fs/promises', 'node:os', 'node:path', 'node:process'],
  },
]

/** Modules that do something stand in one place. */
const homes: Readonly<Record<string, readonly string[]>> = {
  ajv: ['src/mcp/validate/'],
  chalk: ['src/log/paint.ts'],
  eventemitter3: ['src/events/emitter.ts'],
  mri: ['src/cli/tokens.ts'],
  // Servers, the shell that ends them when nobody else can, and who tells of their memory.
  'node:child_process': [
    'src/upstream/process/spawn.ts',
    'src/upstream/process/guardian-shell.ts',
    'src/upstream/process/ps.ts',
    'src/upstream/process/data-limit.ts',
    // Inside a machine.
    'src/sandbox/guest/guest-program.ts',
    'src/sandbox/guest/named-pipes.ts',
  ],
  'p-queue': ['src/upstream/pool/slots.ts'],
  'google-auth-library': ['src/upstream/auth/google-id-token.ts'],
  '@bjorn3': ['src/sandbox/wasm/'],
  '@jitl': ['src/sandbox/wasm/'],
  microsandbox: ['src/sandbox/runtimes.ts'],
  'quickjs-emscripten-core': ['src/sandbox/wasm/'],
  // Loaded when a body is compressed.
  'node:zlib': ['src/transports/http-client/decoding.ts'],
}

function fits(path: string, pattern: string): boolean {
  if (pattern.endsWith('/*')) return dirname(path) === pattern.slice(0, -2)
  return pattern.endsWith('/') ? path.startsWith(pattern) : path === pattern
}

function fitsAny(path: string, patterns: readonly string[]): boolean {
  return patterns.some((pattern) => fits(path, pattern))
}

function packageOf(specifier: string): string {
  return specifier.startsWith('node:') || !specifier.includes('/')
    ? specifier
    : (specifier.split('/')[0] ?? '')
}

describe('imports', () => {
  for (const layer of layers) {
    const own = sources.filter(({ path }) => layers.find(({ files }) => fitsAny(path, files)) === layer)
    test(`${layer.files.join(' and ')} import only what is below them`, () => {
      assert.notEqual(own.length, 0)
      assert.deepEqual(
        own.flatMap((source) => forbiddenImports(source, layer)),
        [],
      )
    })
  }

  test('every file has its layer', () => {
    const lost = sources.filter(({ path }) => !layers.some(({ files }) => fitsAny(path, files)))
    assert.deepEqual(
      lost.map(({ path }) => path),
      [],
    )
  })

  test('few files stand outside of a folder', () => {
    const loose = sources.filter(({ path }) => dirname(path) === 'src').map(({ path }) => basename(path))
    assert.deepEqual(loose, ['cli.ts', 'folder.ts', 'index.ts', 'limits.ts', 'real-runtime.ts', 'version.ts'])
  })

  test('a module that does something is imported in one place', () => {
    const strays = sources.flatMap(({ path, imports }) =>
      imports
        .map(({ specifier }) => packageOf(specifier))
        .filter((name) => name in homes && !fitsAny(path, homes[name] ?? []))
        .map((name) => `${path}: ${name}`),
    )
    assert.deepEqual(strays, [])
  })

  test('there are no cycles', () => {
    assert.deepEqual(cycles(['static', 'dynamic']), [])
  })

  test('types make no cycles either', () => {
    assert.deepEqual(cycles(['static', 'dynamic', 'type']), typeCycles)
  })

  test('a plain start loads no package that it does not need', () => {
    const loaded = staticallyLoaded(['src/cli.ts', ...dynamicOnStart])
    const packages = loaded.flatMap((path) =>
      importsOf(path).filter(({ kind, file }) => kind === 'static' && file === undefined),
    )
    const names = new Set(packages.map(({ specifier }) => packageOf(specifier)))
    assert.deepEqual([...names].filter((name) => !name.startsWith('node:')).sort(), ['eventemitter3', 'mri'])
    assert.deepEqual(
      loaded.filter((path) => fitsAny(path, ['src/replay/', 'src/record/', 'src/sandbox/', 'src/servers/'])),
      [],
    )
  })
})

/** What `--stdio` loads by `import()`, whatever else was asked for. */
const dynamicOnStart = ['src/cli/serve-stdio.ts']

function forbiddenImports({ path, imports }: SourceFile, layer: Layer): string[] {
  return imports.flatMap(({ specifier, file, kind }) => {
    const allowed =
      file === undefined
        ? layer.modules.includes(packageOf(specifier))
        : fitsAny(file, [...layer.files, ...layer.project]) ||
          (kind === 'type' && fitsAny(file, layer.types ?? [])) ||
          // The command loads these when they are asked for.
          (kind !== 'static' &&
            path.startsWith('src/cli') &&
            fitsAny(file, ['src/replay/', 'src/record/record.ts']))
    return allowed ? [] : [`${path}: ${specifier}${kind === 'type' ? ' (type)' : ''}`]
  })
}

function importsOf(path: string): SourceFile['imports'] {
  return sources.find((source) => source.path === path)?.imports ?? []
}

function staticallyLoaded(entries: readonly string[]): string[] {
  const loaded = new Set(entries)
  for (const path of loaded) {
    for (const { file, kind } of importsOf(path))
      if (file !== undefined && kind === 'static') loaded.add(file)
  }
  return [...loaded]
}

/** Nothing is loaded in a circle by these. */
const typeCycles = [
  // An error names the id that it is about, and the reader of ids throws that error.
  'src/jsonrpc/errors.ts -> src/jsonrpc/request-id.ts -> src/jsonrpc/errors.ts',
]

function cycles(kinds: readonly string[]): string[] {
  const done = new Set<string>()
  const found: string[] = []
  const visit = (path: string, trail: readonly string[]): void => {
    if (trail.includes(path)) found.push([...trail.slice(trail.indexOf(path)), path].join(' -> '))
    if (done.has(path) || trail.includes(path)) return
    for (const { file, kind } of importsOf(path)) {
      if (file !== undefined && kinds.includes(kind)) visit(file, [...trail, path])
    }
    done.add(path)
  }
  for (const { path } of sources) visit(path, [])
  return found
}

interface Confined {
  readonly what: string
  /** Where it is looked for: code with or without what stands between quotes, or only that. */
  readonly among: 'code' | 'bare' | 'strings'
  readonly pattern: RegExp
  /** A file or a folder, and why it may. */
  readonly places: Readonly<Record<string, string>>
}

const ownProgram = 'a program of its own, which imports nothing of the proxy'

/** What may stand only in few places, and in each of them. */
const confined: readonly Confined[] = [
  {
    what: 'a revision date stands in a string only in the record of that revision',
    among: 'strings',
    pattern: /\b20\d\d-\d\d-\d\d\b/,
    places: { 'src/mcp/revisions/': 'the records', 'src/servers/time-session.ts': ownProgram },
  },
  {
    what: 'only the legs know the words legacy and modern',
    among: 'bare',
    pattern: /legacy|modern/i,
    places: { 'src/mcp/eras/': 'the legs', 'src/proxy/proxy.ts': 'chooses the leg of each connection' },
  },
  {
    what: 'the kind of a server decides nothing but how it is read and opened',
    among: 'code',
    pattern: /\bkind [!=]== '(?:stdio|http|sse)'|'(?:command|url)' in \w/,
    places: {
      'src/config/': 'reads each kind',
      'src/cli/check.ts': 'looks for the program of one that has a command',
      'src/cli/self-starts.ts': 'likewise',
      'src/proxy/trial.ts': 'one attempt: a program that ends is not started again',
      'src/upstream/contracts/server-config.ts': 'which kinds are remote',
      'src/upstream/kinds/': 'opens each kind',
      'src/upstream/http/http-dialer.ts': 'speaks the one transport or the other',
      'src/upstream/process/head-start.ts': 'starts programs before anything else is loaded',
    },
  },
  {
    what: 'JSON.parse and JSON.stringify',
    among: 'bare',
    pattern: /\bJSON\s*\.\s*(parse|stringify)\b/,
    places: {
      'src/jsonrpc/text.ts': 'one string or small value at a time, for everybody else',
      'src/jsonrpc/request-id.ts': 'one form for all spellings of an id; the id as written is kept',
      'src/mcp/validate.ts': 'arguments, to look at them; the bytes that came are what is forwarded',
      'src/mcp/validate/schema-plan.ts': 'the schema of a tool, for the compiler',
      'src/config/json-syntax.ts': 'the configuration file',
      'src/log/lines.ts': 'log records are lines of JSON',
      'src/record/record.ts': 'the header of a recording; frames are written as their own bytes',
      'src/record/line.ts': 'the envelope of a recorded line; frames are written as their own bytes',
      'src/replay/json-tree.ts': 'the name of a member in a report',
      'src/replay/launch.ts': 'the configuration that a transcript brings',
      'src/replay/message.ts': 'an id in a report',
      'src/servers/': ownProgram,
      'src/sandbox/guest/': ownProgram,
      'src/sandbox/wasm/': ownProgram,
    },
  },
  {
    what: 'only splice and build make bytes that may be sent',
    among: 'bare',
    pattern: /\bwireBytes\b|\bis WireBytes\b|\bnew SplicedLine\b/,
    places: {
      'src/jsonrpc/splice.ts': 'forwards',
      'src/jsonrpc/forwarder.ts': 'forwards what is written where it leaves from',
      'src/jsonrpc/fast/splice-parts.ts': 'forwards what is long',
      'src/jsonrpc/build.ts': 'says',
    },
  },
  {
    what: 'connections are written to by their peer only, so an answer leaves where its request came',
    among: 'bare',
    pattern: /\bconnection\.send(?:Parts|Spliced)?\(/,
    places: {
      'src/jsonrpc/peer.ts': 'the one sender',
      'src/replay/replay-remote.ts': 'a client of its own, which is no part of a proxy',
    },
  },
  {
    what: 'every connection has one peer, made by its one owner',
    among: 'bare',
    pattern: /\bnew Peer\b/,
    places: {
      'src/proxy/session/session.ts': 'towards a client',
      'src/upstream/pool/link.ts': 'towards a server',
      'src/sandbox/server.ts': 'a server inside this process, at the other end of a connection in memory',
    },
  },
  {
    what: 'the wire tap is fed below every edit, where bytes are read and written',
    among: 'bare',
    pattern: /#sink\?\.wire\?\.\(/,
    places: {
      'src/transports/stdio/ndjson.ts': 'streams',
      'src/transports/memory.ts': 'memory',
      'src/transports/http-server/inbox.ts': 'bodies and events',
      'src/transports/http-client/messages.ts': 'bodies and events',
    },
  },
  {
    what: 'our stdout',
    among: 'bare',
    pattern: /\bprocess\s*(\.\s*stdout\b|\[)|\bconsole\s*\./,
    places: {
      'src/transports/stdio/stdio.ts': 'the protocol',
      'src/cli/say.ts': 'help, version, findings and reports; never while serving',
      'src/servers/time.ts': ownProgram,
      'src/sandbox/guest/': ownProgram,
    },
  },
  {
    what: 'timers',
    among: 'bare',
    pattern: /\bset(Timeout|Interval)\s*\(/,
    places: {
      'src/real-runtime.ts': 'the real clock',
      'src/runtime/last-waits.ts': 'the last wait of a connection that closes; nothing is decided by it',
      'src/log/log.ts': 'the last wait for stderr',
      'src/cli/endings.ts': 'the last resort of a process that cannot end',
      'src/cli/config-watch.ts': 'looks at the configuration file from time to time',
      'src/cli/config-follower.ts': 'watches it a little after the start',
      'src/record/writer.ts': 'lines leave in batches',
    },
  },
  {
    what: 'clocks',
    among: 'bare',
    pattern: /\bDate\.now\b|\bnew Date\(\)|\bperformance\b|\bhrtime\b/,
    places: {
      'src/real-runtime.ts': 'the real clock',
      'src/log/log.ts': 'the time of a log record; a test gives its own',
      'src/record/record.ts': 'the date in the header of a recording',
      'src/record/claim.ts': 'tells this process from one that had its number',
      'src/gateway/serving.ts': 'the time of day on the page of health',
      'src/cli/config-follower.ts': 'whether the file is younger than this process',
      'src/servers/time.ts': 'what it is for',
    },
  },
  {
    what: 'chance',
    among: 'bare',
    pattern: /\bMath\.random\b|\bcrypto\b|\brandomUUID\b/,
    places: { 'src/real-runtime.ts': 'the real dice' },
  },
  {
    what: 'code out of text, and shells',
    among: 'bare',
    pattern: /\beval\s*\(|\bnew Function\b|\bshell: true\b/,
    places: {},
  },
  {
    what: 'names from another module (no barrels)',
    among: 'code',
    pattern: /^export (type )?(\*|\{[^}]*\}) from /m,
    places: {
      'src/index.ts': 'the public entry',
      'src/jsonrpc/index.ts': 'the public entry of the core',
      'src/jsonrpc/peer.ts': 'what its owner must do is part of what it is',
      'src/config/config.ts': 'its folder is its own; nobody else looks inside',
      'src/log/log.ts': 'its folder is its own; nobody else looks inside',
      'src/mcp/validate.ts': 'its folder is its own; nobody else looks inside',
    },
  },
]

describe('what may stand only in few places', () => {
  for (const { what, among, pattern, places } of confined) {
    test(what, () => {
      const found = sources.filter((source) => pattern.test(textOf(source, among))).map(({ path }) => path)
      const strays = found.filter((path) => !fitsAny(path, Object.keys(places)))
      assert.deepEqual(strays, [], 'stands where it may not')
      const unneeded = Object.keys(places).filter((place) => !found.some((path) => fits(path, place)))
      assert.deepEqual(unneeded, [], 'has an exception that nothing needs any more')
    })
  }
})

function textOf(source: SourceFile, among: Confined['among']): string {
  return among === 'strings' ? source.strings.join('\n') : source[among]
}

describe('error numbers of JSON-RPC and MCP', () => {
  test('stand in one table', () => {
    const found = sources.filter((source) => errorNumbers(source).length > 0).map(({ path }) => path)
    assert.deepEqual(found, ['src/mcp/error-codes.ts', 'src/servers/time-session.ts'])
  })
})

/** MCP's words; methods are those of the tables that have them. */
const mcpWords = {
  methods: sources.flatMap(({ path, code }) =>
    path !== 'src/mcp/methods.ts'
      ? []
      : [...code.matchAll(/\bmethod: '([^']+)'/g)].map(([, name]) => name ?? ''),
  ),
  members: [
    '_meta',
    'capabilities',
    'clientInfo',
    'cursor',
    'inputSchema',
    'nextCursor',
    'outputSchema',
    'progressToken',
    'prompts',
    'protocolVersion',
    'requestId',
    'resourceTemplates',
    'resources',
    'serverInfo',
    'structuredContent',
    'tools',
    'uri',
  ],
}

/** Which words of MCP stand below `mcp/`, and why. */
const wordsBelow: Readonly<Record<string, readonly string[]>> = {
  // The members by which messages are routed, and what the one scan of a message goes into.
  'src/jsonrpc/frame.ts': ['_meta'],
  'src/jsonrpc/routed-names.ts': [
    'progressToken',
    '_meta',
    'uri',
    'cursor',
    'requestId',
    'protocolVersion',
    'capabilities',
  ],
  // Streamable HTTP begins and ends sessions, and ends requests, by messages.
  'src/transports/http-client/envelope.ts': ['notifications/cancelled', 'requestId', 'protocolVersion'],
  'src/transports/http-client/http-client.ts': ['initialize', 'notifications/initialized'],
  'src/transports/http-client/post.ts': ['initialize'],
  'src/transports/http-client/remote-connection.ts': ['initialize'],
  'src/transports/http-server/inbox.ts': ['notifications/cancelled', 'requestId'],
}

describe('jsonrpc and transports', () => {
  test('know no words of MCP but these', () => {
    assert.equal(mcpWords.methods.includes('tools/call'), true)
    const below = sources.filter(({ path }) => fitsAny(path, ['src/jsonrpc/', 'src/transports/']))
    const found = below.map((source) => [source.path, protocolWords(source, mcpWords)] as const)
    assert.deepEqual(Object.fromEntries(found.filter(([, words]) => words.length > 0)), wordsBelow)
  })
})

describe('jsonrpc', () => {
  test('and mcp do no I/O', () => {
    const pure = sources.filter(({ path }) => fitsAny(path, ['src/jsonrpc/', 'src/mcp/']))
    const reach = /\b(process|globalThis|fetch|WebSocket|navigator)\s*[.([]/
    assert.deepEqual(
      pure.filter(({ bare }) => reach.test(bare)).map(({ path }) => path),
      [],
    )
  })
})

describe('exported names', () => {
  test('mean one thing each', () => {
    const exported = sources.flatMap(({ path, bare }) =>
      [
        ...bare.matchAll(/^export (?:abstract |async )?(?:class|interface|type|function\*?|const) (\w+)/gm),
      ].map(([, name = '']) => ({ name, path })),
    )
    const twins = exported.filter(({ name, path }) =>
      exported.some((other) => other.name === name && other.path !== path),
    )
    assert.notEqual(exported.length, 0)
    assert.deepEqual(twins, [])
  })
})

describe('every file', () => {
  test('has no default export', () => {
    assert.deepEqual(
      sources.filter(({ bare }) => /\bexport\s+default\b|\bas default\b/.test(bare)),
      [],
    )
  })

  test('has no class that inherits from anything but Error', () => {
    assert.deepEqual(
      sources.flatMap(({ path, bare }) => heirs(bare).map((found) => `${path}: ${found}`)),
      [],
    )
  })

  test('asks for the line of a message only where that is not long', () => {
    assert.deepEqual(
      sources.flatMap(({ path, bare }) => joiningPatterns(bare).map((found) => `${path}: ${found}`)),
      [],
    )
  })

  test('says what a value is only where it looks at the value', () => {
    assert.deepEqual(
      sources.flatMap(({ path, bare }) => uncheckedClaims(bare).map((found) => `${path}: ${found}`)),
      [],
    )
  })

  test('has no state of its own', () => {
    assert.deepEqual(
      sources.flatMap(({ path, bare }) => mutableState(bare).map((found) => `${path}: ${found}`)),
      [],
    )
  })
})

const changers = '(?:set|add|delete|clear|push|pop|shift|unshift|splice|sort|reverse|fill)'

/** What stands at the top level of a module and can change: variables, and constants that are changed or given away. */
function mutableState(bare: string): string[] {
  const top = topLevel(bare)
  const variables = [...top.matchAll(/^(?:export\s+)?(?:let|var)\s+(\w+)/gm)]
  const given = [
    ...top.matchAll(/^export\s+const\s+(\w+)\s*(?::(?!\s*Readonly)[^=]*)?=\s*new\s+(?:Weak)?(?:Map|Set)\b/gm),
  ]
  const changed = [...top.matchAll(/^(?:export\s+)?const\s+(\w+)/gm)].filter(([, name]) =>
    new RegExp(
      String.raw`(?<![.#\w])${name}(?:\.${changers}\(|(?:\.\w+|\[[^\]]*\])\s*(?:[-+*/|&?]*=(?![=>])|\+\+|--))`,
    ).test(bare),
  )
  return [...new Set([...variables, ...given, ...changed].map(([, name]) => name ?? ''))]
}

describe('no test', () => {
  test('asserts how long something took by the clock', () => {
    const tests = readSources('test')
    assert.notEqual(tests.length, 0)
    assert.deepEqual(
      tests.flatMap(({ path, bare }) => clockAssertions(bare).map((found) => `${path}: ${found}`)),
      [],
    )
  })
})

describe('the README', () => {
  const readme = readFileSync(join(root, 'README.md'), 'utf8')

  test('prints the list of edits as it is', () => {
    const section = readme.split(/^## /m).find((each) => each.startsWith('What it changes on the wire')) ?? ''
    const printed = [...section.matchAll(/^\| `([a-z-]+)` \|/gm)].map(([, reason]) => reason)
    assert.deepEqual(printed, [...editReasons])
  })
})

describe('the reader of sources', () => {
  const text = [
    "import type { A } from './a.js' // import './no.js'",
    "import {\n  type B,\n  c,\n} from '../x/b.js'",
    "export * from 'pack/deep.js'",
    "const d = await import('./d.js') /* 'lost' */",
    "type E = typeof import('./e.js').e",
    "const f = 'it is -32700' + `a ${g('deep')} b` + /'\\/[/']/.source",
    "import 'node:os'",
    'let last = 1 / 2 / 3',
  ].join('\n')
  const source = readSource('src/y/here.ts', text)

  test('sees every kind of import', () => {
    assert.deepEqual(
      source.imports.map(({ specifier, file, kind }) => [specifier, file, kind]),
      [
        ['./a.js', 'src/y/a.ts', 'type'],
        ['../x/b.js', 'src/x/b.ts', 'static'],
        ['pack/deep.js', undefined, 'static'],
        ['./d.js', 'src/y/d.ts', 'dynamic'],
        ['./e.js', 'src/y/e.ts', 'type'],
        ['node:os', undefined, 'static'],
      ],
    )
  })

  test('tells code from strings and comments', () => {
    assert.deepEqual(source.strings, ["'it is -32700'", '`a ', "'deep'", ' b`'])
    assert.equal(source.bare.includes('lost'), false)
    assert.equal(source.bare.includes("''${g('')}''"), true)
  })

  test('finds state at the top level', () => {
    const states: [string, string[]][] = [
      [source.bare, ['last']],
      ['const seen = new Set()\nfunction f(x) {\n  seen.add(x)\n}\n', ['seen']],
      ['const counts = { a: 1 }\nfunction f() {\n  counts.a += 1\n}\n', ['counts']],
      [
        'const known: ReadonlySet<string> = new Set([])\nfunction f() {\n  return known.has(1) === 2\n}\n',
        [],
      ],
      ['function f() {\n  const own = new Map()\n  own.set(1, 2)\n}\n', []],
      ['export const all = new Map([])\n', ['all']],
    ]
    for (const [code, names] of states) assert.deepEqual(mutableState(code), names)
  })

  test('finds error numbers however they are written', () => {
    const texts: [string, string[]][] = [
      ['const a = -32600', ['32600']],
      ['const a = -32_001 + 0x7f58', ['32_001', '0x7f58']],
      ['const a = -(32.6e3)', ['32.6e3']],
      ["const a = Number('-32603')", ["'-32603'"]],
      ['const a = `-32${rest}`', ['`-32']],
      ["const a = '-326' + rest", ["'-326'"]],
      ['const a = /^-326/.test(text)', ['/^-326/']],
      [String.raw`const a = /^-(?:320\d\d|32600)$/.test(text)`, [String.raw`/^-(?:320\d\d|32600)$/`]],
      [String.raw`const a = /^-?\d+$/.test(text) || text === 'utf-32' || 65_536 > 404`, []],
      ['const a = 1 // not -32600', []],
    ]
    for (const [code, found] of texts) assert.deepEqual(errorNumbers(readSource('src/a.ts', code)), found)
  })

  test('finds words of the protocol however they are written', () => {
    const texts: [string, string[]][] = [
      ["if (method === 'tools/call') f()", ['tools/call']],
      ['f(`notifications/${what}`)', ['notifications/']],
      ["method.startsWith('tools/')", ['tools/']],
      ["isKey(line, key, keyEnd, '_meta')", ['_meta']],
      ["params.members.string('name')", ['name']],
      ['const { protocolVersion } = facts', ['protocolVersion']],
      [String.raw`/^notifications\/|list$/.test(method)`, [String.raw`/^notifications\/|list$/`]],
      ["error.string('message') + members.span('id') + 'the tools of a server' + /^\\w+$/.source", []],
    ]
    for (const [code, found] of texts)
      assert.deepEqual(protocolWords(readSource('src/a.ts', code), mcpWords), found)
  })

  test('finds casts that are written as assertions', () => {
    const texts: [string, string[]][] = [
      ['function f(_line: Line): asserts _line is Wire {}', ['asserts _line is Wire']],
      ['function f(a: A): asserts a is B {\n  note(a)\n}', ['asserts a is B']],
      ['function f(a: A): a is B {\n  return true\n}', ['a is B']],
      ['const f = (a: A): a is B => true', ['a is B']],
      ['function f(a: A): asserts a is B {\n  if (!a.b) throw new Error()\n}', []],
      ['function f(holds: boolean): asserts holds {\n  if (!holds) fail()\n}', []],
      ["function f(a: A): a is B {\n  return a.kind === 'b'\n}", []],
    ]
    for (const [code, found] of texts) assert.deepEqual(uncheckedClaims(code), found)
  })

  test('finds assertions on the clock', () => {
    const texts: [string, number][] = [
      ['assert(performance.now() - startedAt < 900)', 1],
      ['assert.ok((performance.now() - start) / 20 < 1)', 1],
      ['const tookMs = performance.now() - startedAt\nassert(tookMs > 150 && tookMs < 5000)', 1],
      ['assert.ok(Date.now() - sent >= 28)', 1],
      [
        'const times = costRatio(a, b, 5)\nassert.ok(times < 32)\nconst endsAt = performance.now() + HANG_MS',
        0,
      ],
    ]
    for (const [code, found] of texts) assert.equal(clockAssertions(code).length, found, code)
  })

  test('finds classes that inherit', () => {
    const texts: [string, string[]][] = [
      ['export class A extends B {}', ['A extends B']],
      ['const f = class extends g() {}', [' extends g()']],
      ['class A<T extends Map<string, B>> extends C<T> implements D {}', ['A extends C']],
      ['class A<T extends B> implements C {}\nclass D extends Error {}\ninterface E extends F {}', []],
    ]
    for (const [code, found] of texts) assert.deepEqual(heirs(code), found)
  })

  test('finds patterns that join a long message', () => {
    const texts: [string, string[]][] = [
      ['function f({ line, long }: RequestFrame, at: number) {}', ['line, long']],
      ['const { long, id, line } = call.frame', ['long, id, line']],
      ['function f({ long, line, params: { meta } }: RequestFrame) {}', ['long, line, params: { meta }']],
      ['const { long } = frame\nconst { line } = frame', []],
      ['const a = { line: 1, long: 2 }', []],
    ]
    for (const [code, found] of texts) assert.deepEqual(joiningPatterns(code), found)
  })
})
