// Every key of a server that is started as a program: its kind, its default, what it is for.

import type { StdioServerConfig } from '../upstream/contracts/server-config.js'
import { boolean, choice, delayMsMax, integer, list, map, orTrue, text } from './kinds.js'
import { type ProcessSandboxValue, processSandboxKind } from './process-sandbox.js'
import { type FieldsOf, type Rules, field, optional } from './section.js'

/** An hour is already longer than a person waits. */
const delayMax = 3_600_000

const secretText = text({ mayBeEmpty: true, secret: true, wanted: 'a string without NUL characters' })

/** The keys whose values are taken as they are. */
type Plain = 'inheritEnv' | 'restart' | 'concurrency' | 'processes' | 'isolation' | 'onTimeout'

export interface StdioServerValues extends Pick<StdioServerConfig, 'command' | 'args' | Plain> {
  readonly env: ReadonlyMap<string, string>
  readonly envFile: string | undefined
  readonly cwd: string | undefined
  readonly restartDelay: number
  readonly restartDelayMax: number | undefined
  readonly crashesMax: number | undefined
  readonly crashWindow: number | undefined
  readonly crashHold: number | undefined
  readonly idleTimeout: number
  readonly stopTimeout: number
  readonly memoryLimitMB: number | undefined
  readonly sandbox: ProcessSandboxValue | undefined
  readonly sandboxEnabled: boolean | undefined
}

const inheritedName = text({
  pattern: '^[^=*?\\s\\u0000]+$',
  wanted: 'the name of a variable; for all of them write "inheritEnv": true',
})

const variableName = {
  keyPattern: '^[^=\\u0000]+$',
  keyWanted: 'use the name of an environment variable',
  value: secretText,
}

export const stdioServerRules: Rules = { required: ['command'] }

export const stdioServerFields: FieldsOf<StdioServerValues> = {
  command: field(
    text({ wanted: 'the program to start' }),
    '',
    'Program to start, found through PATH; never a shell. ${VAR} is expanded.',
  ),
  args: field(list(secretText), [], 'Arguments of the program. ${VAR} and ${VAR:-fallback} are expanded.'),
  env: field(map(variableName), new Map(), 'Environment variables for the program. ${VAR} is expanded.'),
  envFile: optional(
    text(),
    'File with further variables for the program, NAME=value on each line; env stands above it. ${VAR} is expanded.',
  ),
  inheritEnv: field(
    orTrue(list(inheritedName)),
    [],
    'Names of environment variables that the program gets from the proxy; true passes on all but MCPS_PROXY_*.',
  ),
  cwd: optional(text(), 'Working folder. Absent: the folder of this file. ${VAR} is expanded.'),
  restart: field(boolean(), true, 'Whether a program that ended is started again.'),
  restartDelay: field(
    integer(0, delayMax),
    1000,
    'Milliseconds before the first restart; grows with every crash.',
  ),
  restartDelayMax: optional(
    integer(0, delayMax),
    'Most milliseconds before a restart, however many crashes there were. Absent: 30000.',
  ),
  crashesMax: optional(
    integer(1, 1000),
    'Crashes within crashWindow after which the program is left alone for crashHold. Absent: 5.',
  ),
  crashWindow: optional(
    integer(1, delayMsMax),
    'Milliseconds within which crashes count, and after which one that stays up is forgiven. Absent: 60000.',
  ),
  crashHold: optional(
    integer(0, delayMax),
    'Milliseconds for which a program that keeps crashing is left alone, and its calls fail at once. Absent: 30000.',
  ),
  concurrency: field(integer(1, 10_000), 64, 'Calls in flight at once; 1 is strictly one call at a time.'),
  processes: field(integer(1, 256), 1, 'Most processes that share the calls of clients that can share.'),
  isolation: field(
    choice('auto', 'shared', 'session'),
    'auto',
    'Who shares a process: auto gives clients that can be asked something one of their own.',
  ),
  idleTimeout: field(
    integer(0, delayMsMax),
    0,
    'Stop a process that had no call for this many milliseconds; 0 never does.',
  ),
  stopTimeout: field(
    integer(1, delayMax),
    5000,
    'Milliseconds that a program which is being stopped has between SIGTERM and SIGKILL.',
  ),
  memoryLimitMB: optional(
    integer(1, 16_777_216),
    'Most memory of one process of the server, with all that it starts, in MiB; above it they are ended.',
  ),
  sandbox: optional(
    processSandboxKind,
    'Runs the program behind walls (Linux, bubblewrap): it reads the system and what is named here, and nothing else.',
  ),
  sandboxEnabled: optional(
    boolean(),
    'As in VS Code: true runs the program in its sandbox, or in that of the file; false runs it without.',
  ),
  onTimeout: field(
    choice('cancel', 'restart'),
    'cancel',
    'What happens to the program when a call times out, or the reading of its lists.',
  ),
}
