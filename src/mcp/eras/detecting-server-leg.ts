// A server whose era is not known: it is asked, and spoken to as it answers.
//
// MCP 2026-07-28, stdio and Streamable HTTP, Backward Compatibility. The question is asked in place and never of a
// second process, since a server may hold a lock. The result holds for the connections that follow.

import type { ResponseFrame } from '../../jsonrpc/frame.js'
import type { Call } from '../call.js'
import type { ClientCapabilities } from '../capabilities.js'
import type {
  EraEvidence,
  EraMemory,
  Opened,
  Probed,
  ServerFacts,
  ServerIdentity,
  ServerLeg,
  ServerSpeech,
  ServerVoice,
} from './leg.js'
import { SessionServerLeg } from './session-server-leg.js'
import { StatelessServerLeg, spokenIn } from './stateless-server-leg.js'

/** The legs of which one is chosen. */
export interface ServerLegs {
  readonly legacy: SessionServerLeg
  readonly modern: StatelessServerLeg
}

/** One attempt to open a server. */
interface Attempt {
  readonly voice: ServerVoice
  readonly declared: ClientCapabilities
  readonly opening: Call | undefined
}

/** Gets the answer to `server/discover` of a server that has refused a handshake, where it gives one after all. */
type AfterAll = () => Promise<ResponseFrame | undefined>

const noAnswer: AfterAll = () => Promise.resolve(undefined)

/** Opens one server, which is then spoken to as its era does. */
class DetectingServerLeg implements ServerLeg {
  speech: ServerSpeech
  readonly #legs: ServerLegs
  readonly #memory: EraMemory

  constructor(legs: ServerLegs, memory: EraMemory) {
    this.#legs = legs
    this.#memory = memory
    this.speech = legs.legacy.speech
  }

  open(voice: ServerVoice, declared: ClientCapabilities, opening?: Call): Promise<Opened> {
    const attempt = { voice, declared, opening }
    const { era, evidence = 'refused', shyness } = this.#memory
    if (era === 'stateless') return this.#openTyped(attempt)
    if (era === 'session') return this.#shakeHands(attempt, evidence, noAnswer)
    if (shyness === undefined) return this.#detect(attempt)
    return this.#shakeHands(attempt, shyness, () => this.#askAfterAll(voice))
  }

  recall(handshake: Uint8Array): ServerFacts | undefined {
    return this.#legs.legacy.recall(handshake) ?? this.#legs.modern.recall(handshake)
  }

  async #detect(attempt: Attempt): Promise<Opened> {
    const probed = await this.#probe(attempt.voice)
    switch (probed.kind) {
      case 'answered':
        return this.#answered(probed.answer, attempt)
      case 'refused':
        return this.#shakeHands(attempt, 'refused', noAnswer)
      case 'silent':
        this.#memory.shyness = 'silent'
        return this.#shakeHands(attempt, 'silent', this.#listenFor(probed.late))
      case 'ended':
        this.#memory.shyness = 'ended'
        return { kind: 'ended' }
    }
  }

  #answered(answer: ResponseFrame, attempt: Attempt): Promise<Opened> {
    const spoken = spokenIn(answer)
    switch (spoken.kind) {
      case 'handshake':
        return this.#shakeHands(attempt, answer.kind === 'error' ? 'refused' : 'unlisted', noAnswer)
      case 'ours':
        return this.#openTyped(attempt, spoken.isAnswered ? answer : undefined)
      case 'neither':
        return Promise.resolve({ kind: 'refused', why: spoken.why })
    }
  }

  /**
   * `description` is its answer to `server/discover`, where that has come already.
   *
   * A server that was spoken to so before is not taken for one with sessions because it fails: it fails, and is
   * asked again by the next connection.
   */
  async #openTyped({ voice, opening }: Attempt, description?: ResponseFrame): Promise<Opened> {
    const { modern } = this.#legs
    this.speech = modern.speech
    this.#memory.forgot()
    const opened = modern.opened(description ?? (await modern.discover(voice)), opening)
    if (opened.kind !== 'opened') return opened
    this.#memory.learned('stateless', 'described')
    return { ...opened, evidence: 'described' }
  }

  /** `afterAll` is called when the server refuses the handshake: an answer to it may show that the server wants none. */
  async #shakeHands(attempt: Attempt, evidence: EraEvidence, afterAll: AfterAll): Promise<Opened> {
    const { voice, declared, opening } = attempt
    this.speech = this.#legs.legacy.speech
    const opened = await this.#legs.legacy.open(voice, declared, opening)
    if (opened.kind !== 'opened') {
      const answer = await afterAll()
      const isOurs = answer !== undefined && spokenIn(answer).kind === 'ours'
      return isOurs ? this.#answered(answer, attempt) : opened
    }
    // A late description does not change the era of a connection that is open.
    if (this.#memory.era === undefined) this.#memory.learned('session', evidence)
    return { ...opened, evidence }
  }

  /** A description that comes late is for the next connection, or for this one where the handshake is refused. */
  #listenFor(late: Promise<ResponseFrame>): AfterAll {
    let heard: ResponseFrame | undefined
    const hear = (answer: ResponseFrame): void => {
      heard = answer
      this.#memory.shyness = undefined
      if (spokenIn(answer).kind === 'ours') this.#memory.learned('stateless', 'described')
    }
    // It may never come.
    late.then(hear, () => undefined)
    return () => Promise.resolve(heard)
  }

  async #askAfterAll(voice: ServerVoice): Promise<ResponseFrame | undefined> {
    const probed = await this.#probe(voice)
    return probed.kind === 'answered' ? probed.answer : undefined
  }

  #probe(voice: ServerVoice): Promise<Probed> {
    return this.#legs.modern.probe(voice)
  }
}

// The leg for one connection to a server, by what its configuration says that it speaks.

/** `memory` belongs to the server; only `auto` reads and changes it. A revision is one that begins with a handshake. */
export function serverLeg(
  identity: ServerIdentity,
  { protocol, revision }: { protocol: 'auto' | 'handshake' | 'stateless'; revision?: string | undefined },
  memory: EraMemory,
): ServerLeg {
  switch (protocol) {
    case 'handshake':
      return new SessionServerLeg(identity, revision)
    case 'stateless':
      return new StatelessServerLeg(identity)
    case 'auto':
      return new DetectingServerLeg(
        {
          legacy: new SessionServerLeg(identity),
          modern: new StatelessServerLeg(identity, () => memory.forgot()),
        },
        memory,
      )
  }
}
