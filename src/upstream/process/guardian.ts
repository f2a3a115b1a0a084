// Ends the servers when the proxy is killed with `kill -9`.
//
// The proxy cannot act then, and a server that does not end with its stdin would
// stay for ever. So a shell waits beside the proxy. The proxy reports to the shell
// every process group that begins or ends. When the pipe to the shell ends, for any
// reason, the shell ends the groups that are left.
//
// The number of a group is known only after the fork, and the proxy may die between. So
// the proxy announces each start to the shell before it, with a variable that only the
// new process gets. The shell finds the process by this variable.
//
// The proxy forgets a group only when it is empty: until then the system cannot give
// its number to another group.

import { within } from '../../runtime/deadline.js'
import type { LogSink, Runtime, Timer } from '../../runtime/runtime.js'
import { errorText } from '../../text/error-text.js'
import { spawn } from 'node:child_process'
import { Socket } from 'node:net'
import { delimiter } from 'node:path'
import { pathFolders } from '../../runtime/path-folders.js'

/** Delays between checks for an empty group. A process that resists `kill -9` for longer cannot be ended. */
const LOOK_AGAIN_MS = [5, 20, 75, 250, 750, 2000, 5000, 10_000, 30_000]

const START_AGAIN_MS = 1000

/** The proxy kills a shell with more unread bytes, because it does not read. */
const BACKLOG_BYTES_MAX = 64 * 1024

/** The longest wait for the shell. It ends immediately if no group is left. */
const END_WAIT_MS = 1000

/** The variable by which the shell finds a process with an unknown group. */
const START_VARIABLE = 'MCPS_PROXY_START'

export class Guardian {
  readonly #runtime: Pick<Runtime, 'now' | 'setTimer' | 'random'>
  readonly #log: LogSink
  readonly #startShell: () => GuardianShell
  readonly #isEmpty: (group: number) => boolean
  readonly #groups = new Set<number>()
  readonly #timers = new Set<Timer>()
  #shell: GuardianShell | undefined
  #state: 'idle' | 'started' | 'absent' | 'closed' = 'idle'

  /** `startShell` may throw: the guardian tries again later. */
  constructor(
    runtime: Pick<Runtime, 'now' | 'setTimer' | 'random'>,
    log: LogSink,
    startShell: () => GuardianShell,
    isEmpty: (group: number) => boolean,
  ) {
    this.#runtime = runtime
    this.#log = log
    this.#startShell = startShell
    this.#isEmpty = isEmpty
  }

  /** Announces a fork in this turn; returns variables for the environment of the process. */
  announce(): Readonly<Record<string, string>> {
    const value = this.#runtime.random().toString(36).slice(2)
    if (this.#state === 'idle') this.#start()
    this.#tell(`? ${START_VARIABLE}=${value}`)
    return { [START_VARIABLE]: value }
  }

  /** The announced process leads this group. */
  add(group: number): void {
    if (this.#state === 'absent' || this.#state === 'closed') return
    this.#groups.add(group)
    this.#tell(`+ ${group}`)
  }

  /** The announced process could not be started. */
  withdraw(): void {
    this.#tell('?')
  }

  /** The leader of a group has ended; the group is forgotten when it is empty. */
  remove(group: number): void {
    this.#forget(group, 0)
  }

  /** Ends the shell, which ends the remaining groups; resolves when the shell is gone, or after a second. */
  async close(): Promise<void> {
    const shell = this.#shell
    this.#state = 'closed'
    this.#shell = undefined
    for (const timer of this.#timers) timer.cancel()
    for (const group of this.#groups) if (this.#isEmpty(group)) shell?.write(`- ${group}\n`)
    shell?.end()
    if (shell !== undefined) await within(shell.ended, END_WAIT_MS, this.#runtime)
  }

  #forget(group: number, tries: number): void {
    const waitMs = LOOK_AGAIN_MS[tries]
    if (this.#groups.has(group) && waitMs !== undefined && !this.#isEmpty(group))
      this.#later(waitMs, () => this.#forget(group, tries + 1))
    else if (this.#groups.delete(group)) this.#tell(`- ${group}`)
  }

  #tell(what: string): void {
    const shell = this.#shell
    if (shell === undefined) return
    shell.write(`${what}\n`)
    // The shell does not read. Its successor gets the complete list.
    if (shell.backlogBytes > BACKLOG_BYTES_MAX) shell.kill()
  }

  #start(): void {
    this.#state = 'started'
    try {
      const shell = this.#startShell()
      this.#shell = shell
      shell.write([...this.#groups].map((group) => `+ ${group}\n`).join(''))
      void shell.ended.then((error) => this.#ended(shell, error))
    } catch (error) {
      this.#startAgain(errorText(error))
    }
  }

  #ended(shell: GuardianShell, error: string | undefined): void {
    if (this.#shell !== shell) return
    this.#shell = undefined
    if (error !== 'ENOENT' && error !== 'EACCES') return this.#startAgain(error ?? 'it has ended')
    this.#state = 'absent'
    this.#groups.clear()
    const message = `there is no /bin/sh (${error}): servers that ignore the end of their stdin will outlive a proxy that is killed`
    this.#log({ level: 'debug', message })
  }

  #startAgain(why: string): void {
    this.#log({ level: 'debug', message: `the guardian of the servers is started again: ${why}` })
    this.#later(START_AGAIN_MS, () => this.#start())
  }

  #later(waitMs: number, run: () => void): void {
    const timer = this.#runtime.setTimer(waitMs, () => {
      this.#timers.delete(timer)
      run()
    })
    this.#timers.add(timer)
  }
}

// The program that ends the process groups of a proxy that was killed.
//
// It is a shell script, because every system with process groups has a shell. It uses
// only the builtins of a POSIX shell (`dash`, `ash`) and `sleep`; without `sleep` it
// only waits less. On Linux the script also finds processes that have left a group but
// still descend from a process in it.

/** A shell that reads lines, and acts when they end. */
export interface GuardianShell {
  /** Undefined if the shell could not be started. */
  readonly pid: number | undefined
  readonly backlogBytes: number
  /** Resolves when the shell has ended, with the error code (such as `ENOENT`) if it could not be started. */
  readonly ended: Promise<string | undefined>
  write(line: string): void
  /** Ends the lines. The event loop stays alive until the shell ends. */
  end(): void
  kill(): void
}

const script = `
trap '' HUP INT QUIT TERM TSTP PIPE
groups=' '
descendants=' '
awaited=

# started PID: its parent, its group and its start time; fails when it is gone.
started() {
  { IFS= read -r line <"/proc/$1/stat"; } 2>/dev/null || return 1
  set -f; set -- \${line##*) }; set +f
  parent=$2 pgrp=$3 start=\${20}
}

# Adds to descendants each process of a group, and the descendants of these: " PID@START ".
find_descendants() {
  table=
  for folder in /proc/[0-9]*; do
    started "\${folder#/proc/}" || continue
    case $parent$pgrp$start in *[!0-9]* | '') continue ;; esac
    table="$table \${folder#/proc/} $parent $pgrp $start"
  done
  grown=yes
  while [ "$grown" ]; do
    grown=
    set -- $table
    while [ $# -gt 3 ]; do
      case $descendants in
        *" $1@$4 "*) ;;
        *" $2@"*) descendants="$descendants$1@$4 " grown=yes ;;
        *) case $groups in *" $3 "*) descendants="$descendants$1@$4 " grown=yes ;; esac ;;
      esac
      shift 4
    done
  done
}

# Adds each group with a process that has the awaited variable; with the first one, nothing is awaited any more.
find_awaited() {
  [ "$awaited" ] || return
  before=$groups begun=0
  if started $$; then begun=$start; else list_variables; fi
  for folder in /proc/[0-9]*; do
    started "\${folder#/proc/}" && [ "$start" -ge "$begun" ] || continue
    while IFS= read -r line || [ "$line" ]; do add_awaited; done <"$folder/environ"
  done
  [ "$groups" = "$before" ] || awaited=
} 2>/dev/null

# The same where there is no /proc.
list_variables() {
  while read -r pgrp line; do add_awaited; done <<END
$(ps -A -E -ww -o pgid= -o command=)
END
}

add_awaited() {
  case $groups in *" $pgrp "*) return ;; esac
  case $line in *"$awaited"*) groups="$groups$pgrp " ;; esac
}

# signal NAME: to every group, and to descendants outside of the groups; forgets ended processes, and fails when none is left.
signal() {
  left=' '
  for group in $groups; do kill -s "$1" -- "-$group" && left="$left$group "; done
  groups=$left left=' '
  for one in $descendants; do
    started "\${one%@*}" && [ "$start" = "\${one#*@}" ] || continue
    case $groups in *" $pgrp "*) ;; *) kill -s "$1" "\${one%@*}" || continue ;; esac
    left="$left$one "
  done
  descendants=$left
  [ "$groups$descendants" != '  ' ]
} 2>/dev/null

# Ends the groups and the descendants: with SIGTERM, and after a second with SIGKILL.
end_all() {
  find_descendants
  signal TERM || return
  for pause in 0.1 0.2 0.2 0.2 0.2; do
    sleep "$pause" || { sleep 1; break; }
    signal 0 || return
  done
  for pause in 0.1 0.2 0.5; do
    find_descendants
    signal KILL || return
    sleep "$pause" || sleep 1
  done
} 2>/dev/null

while read -r what group; do
  case $what in
    +) groups="$groups$group " awaited= ;;
    -) case $groups in *" $group "*) groups="\${groups%% $group *} \${groups#* $group }" ;; esac ;;
    '?') awaited=$group ;;
  esac
done

# A process that was forked in the moment of the death has its variables when its program begins.
for pause in 0.1 0.4 1 3 10 0; do
  find_awaited
  [ "$groups" = ' ' ] || end_all
  [ "$awaited" ] || exit
  sleep "$pause" || sleep 1
done 2>/dev/null
`

/** Starts the shell without a shared stream, folder or terminal, and without holding the event loop. */
export function startGuardianShell(env: Runtime['env']): GuardianShell {
  // A folder of PATH may belong to a server, which could put its own `sleep` there.
  const path = ['/usr/bin', '/bin', ...pathFolders(env['PATH'])].join(delimiter)
  // The script is in a variable, so that lists of processes show one short line.
  const child = spawn('/bin/sh', ['-c', 'eval "$GUARDIAN"', 'mcps-proxy-guardian'], {
    cwd: '/',
    env: { GUARDIAN: script, PATH: path },
    stdio: ['pipe', 'ignore', 'ignore'],
    detached: true,
  })
  const ended = new Promise<string | undefined>((resolve) => {
    child.once('error', (error) => resolve('code' in error ? String(error.code) : error.message))
    child.once('exit', () => resolve(undefined))
  })
  child.unref()
  const { stdin } = child
  // Without free descriptors there is no stream, in spite of the types; `ended` has the reason.
  if (stdin instanceof Socket) stdin.unref()
  stdin?.on('error', () => undefined)
  return {
    pid: child.pid,
    ended,
    get backlogBytes() {
      return stdin?.writableLength ?? 0
    },
    write: (line) => void stdin?.write(line),
    end: () => {
      child.ref()
      stdin?.end()
    },
    kill: () => void child.kill('SIGKILL'),
  }
}
