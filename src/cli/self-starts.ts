// Servers of a configuration that are this program again, and lead back to where they stand.
//
// What a start would refuse is found here without starting anything, as far as a command line can be read: a program
// that starts this one by other means is refused when it does.

import { basename } from 'node:path'
import { ConfigError, enabledSchemas, loadConfig, loopProblems, marksOf, realPath } from '../config/config.js'
import type { Configuration, Environment, ServerConfig, StdioServerConfig } from '../config/config.js'
import { parseArguments } from './args.js'

/** Configurations that are looked at in all; nobody's leads to more. */
const looksMax = 64

/** A configuration as another proxy would serve it. */
interface Served {
  readonly config: Configuration
  readonly schemas: readonly string[]
}

/** Finds the servers that would start proxies without end. */
export class SelfStarts {
  readonly #program: string
  #looks = 0

  /** `program` is the file that runs as this program. */
  constructor(program: string) {
    this.#program = realPath(program)
  }

  /** Whether this server of a schema is this program, and is refused or starts one that is. */
  leadsBack(server: ServerConfig, schema: string, config: Configuration, env: Environment): boolean {
    if (server.kind !== 'stdio' || server.disabled || ++this.#looks > looksMax) return false
    const below = { ...env, ...server.env, ...marksOf(config, schema, env) }
    const served = this.#servedBy(server, below)
    if (served === undefined) return false
    if (loopProblems(served.config, served.schemas, below).length > 0) return true
    return served.schemas.some((name) => {
      const servers = served.config.schemas.get(name)?.servers ?? []
      return servers.some((each) => this.leadsBack(each, name, served.config, below))
    })
  }

  /** What the server serves when it is this program. */
  #servedBy(server: StdioServerConfig, env: Environment): Served | undefined {
    const words = [server.command, ...server.args.flatMap(wordsOf)]
    const at = words.findIndex((word) => this.#isProgram(word))
    if (at === -1) return undefined
    const command = parseArguments(words.slice(at + 1))
    if (command.kind !== 'http' && (command.kind !== 'stdio' || command.remote !== undefined))
      return undefined
    const config = loaded(command.config, env, server.cwd)
    if (config === undefined) return undefined
    return { config, schemas: command.kind === 'stdio' ? [command.schema] : enabledSchemas(config) }
  }

  #isProgram(word: string): boolean {
    const name = basename(word).replace(/(?:\.cmd|\.exe|@[\w.^~-]+)$/i, '')
    return name === 'mcps-proxy' || name === 'mcp-all-in-one' || realPath(word) === this.#program
  }
}

/** What a shell is given as one argument holds several words; quotes around them mean nothing here. */
function wordsOf(arg: string): string[] {
  return arg.split(/\s+/).map((word) => word.replace(/^["']|["';]+$/g, ''))
}

function loaded(path: string | undefined, env: Environment, cwd: string): Configuration | undefined {
  try {
    return loadConfig({ path, env, cwd })
  } catch (error) {
    // A start would say so; it starts nothing then.
    if (error instanceof ConfigError) return undefined
    throw error
  }
}
