// The program that ends the process groups of a proxy that could not do so itself.
//
// It is a script, since a shell is what every system has that has process
// groups. It uses nothing but the builtins of a POSIX shell (`dash`, `ash`)
// and `sleep`, without which it only waits less. On Linux it also finds processes
// that have left a group but still descend from a process in it.

import { spawn } from 'node:child_process'
import { Socket } from 'node:net'
import { delimiter } from 'node:path'
import { pathFolders } from '../../runtime/path-folders.js'
import type { Runtime } from '../../runtime/runtime.js'

/** A shell that reads lines, and acts at their end. */
export interface GuardianShell {
  /** Undefined when it could not be started. */
  readonly pid: number | undefined
  /** Bytes that it has not read yet. */
  readonly backlogBytes: number
  /** Resolves when it has ended; the code of the error (`ENOENT`) when it could not be started. */
  readonly ended: Promise<string | undefined>
  write(line: string): void
  /** The end of the lines; from now on its end is waited for. */
  end(): void
  kill(): void
}

const script = `
trap '' HUP INT QUIT TERM TSTP PIPE
groups=' '
kin=' '
awaited=

# started PID: its parent, its group and its start time; fails when it is gone.
started() {
  { IFS= read -r line <"/proc/$1/stat"; } 2>/dev/null || return 1
  set -f; set -- \${line##*) }; set +f
  parent=$2 pgrp=$3 start=\${20}
}

# Adds to kin who is in a group, and who descends from somebody in it: " PID@START ".
find_kin() {
  table=
  for folder in /proc/[0-9]*; do
    { IFS= read -r line <"$folder/stat"; } 2>/dev/null || continue
    set -f; set -- \${line##*) }; set +f
    case $2$3\${20} in *[!0-9]* | '') continue ;; esac
    table="$table \${folder#/proc/} $2 $3 \${20}"
  done
  grown=yes
  while [ "$grown" ]; do
    grown=
    set -- $table
    while [ $# -gt 3 ]; do
      case $kin in
        *" $1@$4 "*) ;;
        *" $2@"*) kin="$kin$1@$4 " grown=yes ;;
        *) case $groups in *" $3 "*) kin="$kin$1@$4 " grown=yes ;; esac ;;
      esac
      shift 4
    done
  done
}

# Adds to groups those whose variables hold what is awaited, and awaits nothing more once there is one.
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

# signal NAME: to every group, and to kin outside of them; forgets who is gone, and fails when nobody is left.
signal() {
  left=' '
  for group in $groups; do kill -s "$1" -- "-$group" && left="$left$group "; done
  groups=$left left=' '
  for one in $kin; do
    started "\${one%@*}" && [ "$start" = "\${one#*@}" ] || continue
    case $groups in *" $pgrp "*) ;; *) kill -s "$1" "\${one%@*}" || continue ;; esac
    left="$left$one "
  done
  kin=$left
  [ "$groups$kin" != '  ' ]
} 2>/dev/null

# Ends whoever is in a group, and kin: with SIGTERM, and after a second with SIGKILL.
end_all() {
  find_kin
  signal TERM || return
  for pause in 0.1 0.2 0.2 0.2 0.2; do
    sleep "$pause" || { sleep 1; break; }
    signal 0 || return
  done
  for pause in 0.1 0.2 0.5; do
    find_kin
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

/** Starts the shell with nothing of ours: not our streams, our folder, our terminal, or our event loop. */
export function startGuardianShell(env: Runtime['env']): GuardianShell {
  // A PATH may name folders in which a server could put its own `sleep`.
  const path = ['/usr/bin', '/bin', ...pathFolders(env['PATH'])].join(delimiter)
  // A list of processes shows one short line.
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
  // Without descriptors there is no stream, whatever the types claim; `ended` has the reason.
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
