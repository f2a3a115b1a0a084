// Which folders of the host may be seen inside, and that they stay the ones that were configured.

import { homedir } from 'node:os'
import { lstat, readdir, realpath } from 'node:fs/promises'
import { dirname, join, normalize, sep } from 'node:path'
import type { MachineVolume } from './runtime.js'

/** A folder of the host as it was when the service started. */
export interface CheckedVolume extends MachineVolume {
  readonly device: number
  readonly inode: number
}

/** What is wrong with a volume, and what would be right. */
export interface VolumeProblem {
  readonly volume: MachineVolume
  readonly problem: string
}

/** They are the system's, or give control of the host to whoever may write there. */
const FORBIDDEN_ON_HOST = ['/proc', '/sys', '/dev', '/run', '/var/run', '/etc', '/boot']

/** They are the machine's own; in its workspace a program could put a link where the volume belongs. */
const TAKEN_INSIDE = [
  '/bin',
  '/dev',
  '/etc',
  '/lib',
  '/lib32',
  '/lib64',
  '/libx32',
  '/proc',
  '/sbin',
  '/sys',
  '/tmp',
  '/usr',
  '/workspace',
]

/** The volumes that may be used, and what is wrong with the others. */
export async function checkVolumes(
  volumes: readonly MachineVolume[],
): Promise<{ readonly checked: readonly CheckedVolume[]; readonly problems: readonly VolumeProblem[] }> {
  const checked: CheckedVolume[] = []
  const problems: VolumeProblem[] = []
  for (const volume of volumes) {
    const found = inside(volume, volumes) ?? (await onHost(volume, volumes))
    if (typeof found === 'string') problems.push({ volume, problem: found })
    else checked.push(found)
  }
  return { checked, problems }
}

/** What has become of a volume since it was checked; undefined when it is what it was. */
export async function changedVolume(volume: CheckedVolume): Promise<string | undefined> {
  const found = await onHost(volume, [])
  const isSame = typeof found !== 'string' && found.device === volume.device && found.inode === volume.inode
  return isSame ? undefined : notTheSame(volume.hostPath)
}

/** Clients read it: what stands in its place now is nothing of theirs. */
export function notTheSame(hostPath: string): string {
  return `${hostPath} is not the folder that it was when the service started`
}

function inside(volume: MachineVolume, all: readonly MachineVolume[]): string | undefined {
  const { guestPath } = volume
  if (!guestPath.startsWith('/') || normalize(guestPath) !== guestPath || guestPath.endsWith('/'))
    return `${guestPath} is no plain absolute path inside: write it without '..', '//' and an ending '/'`
  if (TAKEN_INSIDE.some((path) => covers(path, guestPath)))
    return `${guestPath} belongs to the machine: choose a folder of its own, such as /data`
  const other = all.find((each) => each !== volume && overlap(each.guestPath, guestPath))
  return other === undefined ? undefined : `${guestPath} and ${other.guestPath} lie in each other`
}

async function onHost(volume: MachineVolume, all: readonly MachineVolume[]): Promise<CheckedVolume | string> {
  const { hostPath } = volume
  if (FORBIDDEN_ON_HOST.some((path) => covers(path, hostPath)) || isAbove(hostPath))
    return `${hostPath} would give the machine control of the host: choose a folder that holds nothing but what the machine needs`
  const other = all.find((each) => each !== volume && overlap(each.hostPath, hostPath))
  if (other !== undefined) return `${hostPath} and ${other.hostPath} lie in each other`
  try {
    const real = await realpath(hostPath)
    // Clients read it, and need not know where a link leads.
    if (real !== hostPath)
      return `${hostPath} is a link, or lies behind one: write the path that realpath ${hostPath} shows`
    const stats = await lstat(hostPath)
    if (!stats.isDirectory()) return `${hostPath} is no folder`
    const socket = await socketIn(hostPath)
    if (socket !== undefined)
      return `${hostPath} holds the socket '${socket}', through which the host could be reached`
    return { ...volume, device: stats.dev, inode: stats.ino }
  } catch (error) {
    return `${hostPath} cannot be used: ${error instanceof Error ? error.message : String(error)}`
  }
}

/** The root, a home itself, or whatever has one of the forbidden places in it. */
function isAbove(path: string): boolean {
  const home = homedir()
  if (path === '/' || covers(path, home)) return true
  if (['/home', '/root', '/Users'].includes(path) || dirname(path) === '/home') return true
  return [...FORBIDDEN_ON_HOST, '/usr'].some((forbidden) => covers(path, forbidden))
}

async function socketIn(path: string): Promise<string | undefined> {
  for (const name of await readdir(path)) {
    if ((await lstat(join(path, name))).isSocket()) return name
  }
  return undefined
}

function overlap(one: string, other: string): boolean {
  return covers(one, other) || covers(other, one)
}

/** Whether a path is this folder, or lies in it. */
export function covers(folder: string, path: string): boolean {
  return path === folder || path.startsWith(folder.endsWith(sep) ? folder : `${folder}${sep}`)
}
