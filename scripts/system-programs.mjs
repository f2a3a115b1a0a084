// Finds the system programs that `npm run test:system` needs.
//
// usage: node scripts/system-programs.mjs              lists missing programs, and how to install them
//        node scripts/system-programs.mjs --install    installs missing programs from packages of Debian

import { spawnSync } from 'node:child_process'
import { constants, accessSync } from 'node:fs'
import { delimiter, join } from 'node:path'

/** The Debian package of each program. */
const packages = {
  nginx: 'nginx',
  haproxy: 'haproxy',
  'redis-server': 'redis-server',
  bwrap: 'bubblewrap',
  python3: 'python3',
  podman: 'podman',
  runc: 'runc',
  chromium: 'chromium',
}

/** The PATH, and folders that are only in the PATH of root on Debian. */
const folders = [...(process.env.PATH ?? '').split(delimiter), '/usr/sbin', '/usr/local/sbin']

function isThere(program) {
  return folders.some((folder) => {
    try {
      accessSync(join(folder, program), constants.X_OK)
      return true
    } catch {
      return false
    }
  })
}

const missing = () => Object.keys(packages).filter((program) => !isThere(program))

/** Returns the command that installs packages; undefined if this user may not install any. */
function installer() {
  if (!isThere('apt-get')) return undefined
  if (process.getuid?.() === 0) return ['apt-get']
  return isThere('sudo') ? ['sudo', '-n', 'apt-get'] : undefined
}

function install(wanted) {
  const [command, ...first] = installer() ?? []
  if (command === undefined) return
  // Another program may hold the lock of the package manager, and a mirror may fail once.
  const patience = ['-o', 'DPkg::Lock::Timeout=300', '-o', 'Acquire::Retries=3']
  const apt = (...args) =>
    spawnSync(command, [...first, ...patience, ...args], {
      stdio: ['ignore', 'inherit', 'inherit'],
      env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' },
    })
  apt('update')
  apt('install', '--yes', '--no-install-recommends', ...wanted)
}

const named = (programs) => programs.map((program) => packages[program])

if (process.argv[2] === '--install' && missing().length > 0) install(named(missing()))

const left = missing()
if (left.length > 0) {
  console.error(`not installed: ${left.join(', ')}; without them npm run test:system cannot run
install them with: apt-get install ${named(left).join(' ')}   (as root)`)
  process.exitCode = 1
}
