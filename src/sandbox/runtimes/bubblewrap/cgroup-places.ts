// Where this process may make control groups for machines.
//
// Below its own group where that can be, so that limits of a container or a unit around the service hold for machines too.

import { access, mkdir, readFile, rmdir, writeFile } from 'node:fs/promises'
import { constants } from 'node:fs'
import { join, relative } from 'node:path'

/** Of version 1: a folder for each kind of limit; of version 2: one for all. */
export type CgroupPlaces =
  | {
      readonly kind: 'v1'
      readonly memory: string
      readonly pids: string | undefined
      readonly cpu: string | undefined
    }
  | { readonly kind: 'v2'; readonly folder: string }

/** Files of the system, for tests elsewhere. */
export interface CgroupFiles {
  readonly mountinfo: string
  readonly own: string
}

interface Mount {
  readonly root: string
  readonly point: string
  readonly type: string
  readonly options: readonly string[]
}

const systemFiles: CgroupFiles = { mountinfo: '/proc/self/mountinfo', own: '/proc/self/cgroup' }

/** The names that the two versions have for what is limited; memory must be, the others may. */
const WANTED = ['memory', 'pids', 'cpu']

/** Undefined where no group with a limit on memory can be made. */
export async function findCgroupPlaces(
  probeName: string,
  files: CgroupFiles = systemFiles,
): Promise<CgroupPlaces | undefined> {
  try {
    const mounts = mountsOf(await readFile(files.mountinfo, 'latin1'))
    const own = ownGroups(await readFile(files.own, 'latin1'))
    return (await secondVersion(mounts, own, probeName)) ?? (await firstVersion(mounts, own, probeName))
  } catch {
    return undefined
  }
}

async function secondVersion(
  mounts: readonly Mount[],
  own: ReadonlyMap<string, string>,
  probeName: string,
): Promise<CgroupPlaces | undefined> {
  const mount = mounts.find(({ type }) => type === 'cgroup2')
  if (mount === undefined) return undefined
  for (const folder of candidates(mount, own.get(''))) {
    if ((await madeIn(folder, probeName, delegates)) !== undefined) return { kind: 'v2', folder }
  }
  return undefined
}

/** Whether groups below the folder have limits; a group with processes of its own cannot give them any. */
async function delegates(group: string, folder: string): Promise<boolean> {
  for (const name of WANTED) {
    try {
      await writeFile(join(folder, 'cgroup.subtree_control'), `+${name}`)
    } catch {
      // It is on already, or will be missed below.
    }
  }
  return isWritable(join(group, 'memory.max'))
}

async function firstVersion(
  mounts: readonly Mount[],
  own: ReadonlyMap<string, string>,
  probeName: string,
): Promise<CgroupPlaces | undefined> {
  const [memory, pids, cpu] = await Promise.all(
    WANTED.map((name) => firstVersionPlace(name, mounts, own, probeName)),
  )
  return memory === undefined ? undefined : { kind: 'v1', memory, pids, cpu }
}

async function firstVersionPlace(
  controller: string,
  mounts: readonly Mount[],
  own: ReadonlyMap<string, string>,
  probeName: string,
): Promise<string | undefined> {
  const mount = mounts.find(({ type, options }) => type === 'cgroup' && options.includes(controller))
  if (mount === undefined) return undefined
  for (const folder of candidates(mount, own.get(controller))) {
    if ((await madeIn(folder, probeName, (group) => isWritable(join(group, 'cgroup.procs')))) !== undefined)
      return folder
  }
  return undefined
}

/** The own group as the mount shows it, then the root of the mount. */
function candidates({ root, point }: Mount, own: string | undefined): string[] {
  if (own === undefined) return [point]
  const below = relative(root, own)
  return below === '' || below.startsWith('..') ? [point] : [join(point, below), point]
}

/** Makes a group for a moment. */
async function madeIn(
  folder: string,
  name: string,
  isGood: (group: string, folder: string) => Promise<boolean>,
): Promise<string | undefined> {
  const group = join(folder, name)
  try {
    await mkdir(group)
    const good = await isGood(group, folder)
    await rmdir(group)
    return good ? folder : undefined
  } catch {
    return undefined
  }
}

async function isWritable(path: string): Promise<boolean> {
  try {
    await access(path, constants.W_OK)
    return true
  } catch {
    return false
  }
}

/** `proc(5)`, `/proc/pid/mountinfo`: fields, optional ones, `-`, type, source, options. */
function mountsOf(text: string): Mount[] {
  return text.split('\n').flatMap((line) => {
    const [before = '', after = ''] = line.split(' - ')
    const [, , , root, point] = before.split(' ')
    const [type, , options] = after.split(' ')
    if (root === undefined || point === undefined || type === undefined || options === undefined) return []
    return [{ root, point, type, options: options.split(',') }]
  })
}

/** The path of the own group by the name of what it limits; the one of version 2 has none. */
function ownGroups(text: string): Map<string, string> {
  return new Map(
    text.split('\n').flatMap((line): (readonly [string, string])[] => {
      const [, names, ...path] = line.split(':')
      return names === undefined ? [] : names.split(',').map((name) => [name, path.join(':')])
    }),
  )
}
