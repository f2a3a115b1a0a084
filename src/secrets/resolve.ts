import type { Readable } from 'node:stream'
import type { InputConfig } from '../config/configuration.js'
import {
  type NotedReferences,
  type ReferencesAbout,
  type Resolution,
  type SecretReference,
  referenceText,
  wordsOf,
} from '../config/references.js'
import { readTextFile } from '../runtime/read-file.js'
import { realRuntime } from '../real-runtime.js'
import type { Runtime } from '../runtime/runtime.js'
import { escapeText, inShell } from '../text/escape.js'
import { definedIn } from '../text/json-object.js'
import { SecretStore, SecretStoreError } from './store.js'

/** The longest secret, in bytes of a file or UTF-16 units of an output. Tokens and certificates are shorter. */
const LENGTH_MAX = 64 * 1024

/** The longest time that a program may run. It may ask a service or a fingerprint reader. */
const PROGRAM_MS = 10_000

export interface Fetching {
  /** The file of the secrets that a person set. */
  readonly secretsFile: string
  /** Absent: the real runtime. */
  readonly runtime?: Runtime | undefined
  /** Absent without a terminal. */
  readonly ask?: AskInput | undefined
  /** Whether programs of `${cmd:…}` are started. Otherwise their references stay unresolved. */
  readonly runsPrograms: boolean
}

/** Asks a person for the value of an input. Resolves with undefined if the person enters none. */
export type AskInput = (input: InputConfig) => Promise<string | undefined>

interface Sources {
  readonly runtime: Runtime
  readonly store: SecretStore
  readonly about: ReferencesAbout
  /** Undefined without a terminal. */
  readonly ask: AskInput | undefined
}

/** Fetches every noted secret that is still pending. All run in parallel, except questions to a person. */
export async function fetchPending(
  references: NotedReferences,
  { secretsFile, runtime: given, ask, runsPrograms }: Fetching,
): Promise<void> {
  const own = realRuntime()
  const runtime = given ?? own
  try {
    const sources = { runtime, ask, about: references.about, store: new SecretStore(secretsFile, runtime) }
    const isFetched = ({ form }: SecretReference): boolean => form !== 'cmd' || runsPrograms
    const fetch = async (each: SecretReference): Promise<void> =>
      references.settle(each, isFetched(each) ? await fetchSecret(each, sources) : undefined)
    const { pending } = references
    await Promise.all(pending.filter(({ form }) => form !== 'input').map(fetch))
    for (const each of pending) if (each.form === 'input') await fetch(each)
  } finally {
    await own.close()
  }
}

/** A reference has no value. The message tells a person why. */
class NoValue extends Error {}

/** Fetches one secret. A missing secret is a `failed` resolution, and no error. */
async function fetchSecret(reference: SecretReference, sources: Sources): Promise<Resolution> {
  try {
    const value = await fetchers[reference.form](reference, sources)
    if (value.includes('\0')) throw new NoValue(`${referenceText(reference)} has a NUL character`)
    return { kind: 'value', value }
  } catch (error) {
    if (error instanceof NoValue) return { kind: 'failed', why: escapeText(error.message) }
    if (!(error instanceof SecretStoreError)) throw error
    return { kind: 'failed', why: escapeText(`${referenceText(reference)}: ${error.message}`) }
  }
}

/** @throws NoValue, SecretStoreError */
type Fetcher = (reference: SecretReference, sources: Sources) => Promise<string>

const fetchers: Readonly<Record<SecretReference['form'], Fetcher>> = {
  file: async (reference) => {
    const file = readTextFile(reference.name, LENGTH_MAX)
    if (file.kind === 'read') return withoutLastBreak(file.text)
    throw new NoValue(`${referenceText(reference)}: ${file.why}`)
  },
  cmd: outputOf,
  keyring: async ({ name }, { store }) => {
    const value = await store.get(name)
    if (value !== undefined) return value
    throw new NoValue(`the secret ${name} is not set; run mcps-proxy secret set ${inShell(name)}`)
  },
  input: async ({ name: id }, { store, about, ask }) => {
    const kept = await store.get(id)
    if (kept !== undefined) return kept
    const input = about.inputs.find((each) => each.id === id)
    const value = input === undefined || input.type === 'command' ? undefined : await ask?.(input)
    if (value === undefined) {
      const what = input?.description === undefined ? '' : ` (${input.description})`
      throw new NoValue(`the input ${id}${what} has no value; run mcps-proxy secret set ${inShell(id)}`)
    }
    await store.set(id, value)
    return value
  },
}

function withoutLastBreak(text: string): string {
  return text.replace(/\r?\n$/, '')
}

/** The output of a program. It runs without a shell, with the environment of the proxy and the PATH of `about`. */
async function outputOf(reference: SecretReference, { runtime, about }: Sources): Promise<string> {
  const text = referenceText(reference)
  const [command, ...args] = wordsOf(reference.name) ?? []
  if (command === undefined) throw new NoValue(`${text} names no program, or has a quote that does not end`)
  const env = definedIn({ ...runtime.env, ...about.env })
  const child = runtime.spawn({ command, args, cwd: about.folder, env })
  child.stdin.on('error', () => undefined).end()
  let isLate = false
  const timer = runtime.setTimer(PROGRAM_MS, () => {
    isLate = true
    child.signal('SIGKILL')
    // A daemon that the program started may keep these streams open.
    child.stdout.destroy()
    child.stderr.destroy()
  })
  const [output, errors, { code, signal, spawnError }] = await Promise.all([
    textOf(child.stdout),
    textOf(child.stderr),
    child.exited,
  ])
  timer.cancel()
  if (spawnError !== undefined) throw new NoValue(`${text} cannot be started: ${spawnError}`)
  if (isLate) throw new NoValue(`${text} did not end within ${PROGRAM_MS / 1000} s`)
  const last = errors.trimEnd().split('\n').at(-1) ?? ''
  const words = last === '' ? '' : `: ${last}`
  if (code !== 0) throw new NoValue(`${text} ended with ${signal ?? `exit code ${code}`}${words}`)
  if (output.length > LENGTH_MAX) throw new NoValue(`${text} printed more than ${LENGTH_MAX} characters`)
  const value = withoutLastBreak(output)
  if (value === '') throw new NoValue(`${text} printed nothing${words}`)
  return value
}

/** Resolves at the end of the stream. A text that is too long keeps its last part. */
function textOf(stream: Readable): Promise<string> {
  return new Promise((resolve) => {
    let text = ''
    stream.setEncoding('utf8')
    stream.on('data', (chunk: string) => (text = `${text}${chunk}`.slice(-LENGTH_MAX - 1)))
    stream.on('error', () => undefined)
    for (const end of ['end', 'close']) stream.on(end, () => resolve(text))
  })
}
