// `--ui`: the inspector of a serving process, and the address for a person.

import { randomBytes } from 'node:crypto'
import process from 'node:process'
import { secretsIn } from '../config/config.js'
import { homeOf, ownPath } from '../config/file.js'
import { needsToken } from '../config/front.js'
import { ConfigError } from '../config/problems.js'
import type { McpProxy, ProxyOptions } from '../index.js'
import { Inspector } from '../inspector/inspector.js'
import { type PagesListener, listenForPages } from '../inspector/listener.js'
import { InspectorPages } from '../inspector/pages.js'
import { isLoopback } from '../text/loopback.js'
import type { Run } from './serve.js'
import { keepAddress } from './ui-addresses.js'

const KEY_BYTES = 32

export class Inspection {
  readonly pages: InspectorPages
  readonly options: Pick<ProxyOptions, 'tapSwitch' | 'on' | 'onSecrets'>
  readonly #inspector: Inspector
  readonly #runOptions: Run['options']
  readonly #key: string = randomBytes(KEY_BYTES).toString('base64url')
  #listener: PagesListener | undefined
  #forget: () => void = () => {}

  /** @throws the system's error if the files of the page are missing */
  constructor({ config, logger, options, invocation, schemasOf }: Omit<Run, 'inspection'>) {
    this.#runOptions = options
    const { redact: redacts, historyBytes } = config.server.ui
    this.#inspector = new Inspector({ runtime: options.runtime, redacts, historyBytes, invocation })
    const { redactor } = this.#inspector
    redactor.addSecrets([...secretsIn(config, schemasOf(config)), this.#key])
    logger.onSecrets = (secrets) => redactor.addSecrets(secrets)
    const onSecrets = (secrets: readonly string[], service: string): void => {
      redactor.learnSecrets(secrets)
      options.onSecrets?.(secrets, service)
    }
    this.pages = new InspectorPages(this.#inspector, this.#key)
    const on = [...[options.on ?? []].flat(), this.#inspector.status.listeners]
    this.options = { tapSwitch: this.#inspector.tapSwitch, on, onSecrets }
  }

  /**
   * Shows these proxies. The pages have a separate port on this machine, unless an HTTP front serves them.
   *
   * @throws the system's error
   */
  async open(proxies: ReadonlyMap<string, McpProxy>, origin: string | undefined, port = 0): Promise<void> {
    const { runtime, log = () => {} } = this.#runOptions
    this.#inspector.status.proxies = proxies
    if (origin === undefined) this.#listener = await listenForPages(this.pages, port, { runtime, log })
    const address = `${origin ?? this.#listener?.origin}/ui/#key=${this.#key}`
    this.#forget = keepAddress(ownPath(homeOf(process.env), 'ui'), address)
    // The address contains a key, and the stderr of a program may end in a file that others read.
    const shown = process.stderr.isTTY ? address : 'mcps-proxy status --ui prints its address'
    process.stderr.write(`inspector: ${shown}\n`)
  }

  async close(): Promise<void> {
    this.#forget()
    this.#inspector.close()
    await this.#listener?.close()
  }
}

/** @throws ConfigError if the pages would be open to the network */
export function refuseOpenPages({ server, source }: Run['config'], host: string): void {
  if (isLoopback(host) || (server.ui.remote && needsToken(server))) return
  const problem = `--ui shows every message, and ${host} can be reached from other machines`
  const hint = 'listen on 127.0.0.1, or set "ui": { "remote": true } and a token in "server"'
  throw new ConfigError('CONFIG_INVALID', source, [{ path: 'server.ui.remote', problem, hint }])
}
