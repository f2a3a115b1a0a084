// What `doctor` says of the files of clients.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { clientFindings } from '../../../src/cli/clients/findings.js'
import { clients } from '../../../src/cli/clients/table.js'

const node = process.execPath
const script = '/opt/mcps-proxy/dist/cli.js'

type Files = Readonly<Record<string, Readonly<Record<string, object>> | string>>

/** Of files with these servers by client; each finding as one text. */
function findingsOf(files: Files, platform: NodeJS.Platform = 'linux'): string[] {
  const machine = { platform, home: '/home/u', env: {} }
  const found = clients.flatMap((client) => {
    const servers = files[client.name]
    if (servers === undefined) return []
    const text = typeof servers === 'string' ? servers : JSON.stringify({ [client.key]: servers })
    return [{ client, path: '/f', text }]
  })
  const launch = { short: ['mcps-proxy'], whole: [node, script], config: undefined } as const
  return clientFindings(found, machine, launch, (program) => program === 'mcps-proxy').map(
    ({ client, path, problem, mend }) => `${client} ${path} ${problem}: ${mend}`,
  )
}

const own = (command: string, ...args: readonly string[]): Files => ({ cursor: { mcps: { command, args } } })
const mend = '{"command":"mcps-proxy","args":["stdio"]}'

describe('a client’s file', () => {
  const cases: [string, Files, readonly string[], NodeJS.Platform?][] = [
    ['has nothing of ours', { cursor: { a: { command: 'a' } } }, []],
    ['has an entry that starts', own('mcps-proxy', 'stdio'), []],
    ['has an entry with the paths of today', own(node, import.meta.filename, 'stdio'), []],
    [
      'names a Node.js that is not there',
      own('/old/node', script, 'stdio'),
      [`Cursor /f has the entry 'mcps', which starts /old/node, which is not there: write ${mend}`],
    ],
    [
      'names a program that is not there',
      own(node, script, 'stdio'),
      [`Cursor /f has the entry 'mcps', which starts ${script}, which is not there: write ${mend}`],
    ],
    [
      'names a program that PATH does not have',
      own('mcp-all-in-one', 'stdio', '--server=files'),
      [
        `Cursor /f has the entry 'mcps', which starts mcp-all-in-one, which is in no folder of PATH: write {"command":"mcps-proxy","args":["stdio","--server","files"]}`,
      ],
    ],
    [
      'needs the PATH of a shell',
      { claude: { mcps: { command: 'mcps-proxy', args: ['stdio'] } } },
      [
        `Claude Desktop /f has the entry 'mcps', which starts mcps-proxy, and the client has not the PATH of your shell: write {"command":"${node}","args":["${script}","stdio"]}`,
      ],
      'darwin',
    ],
    [
      'is not understood',
      { cursor: 'x' },
      [
        'Cursor /f is not JSON at line 1, column 1: expected a name or text in double quotes, a number, true, false or null, but found x: repair the file; the client may not read it either',
      ],
    ],
  ]
  for (const [title, files, wanted, platform] of cases)
    test(title, () => assert.deepEqual(findingsOf(files, platform), wanted))
})
