// The arguments with which the proxy is started again for a replay.
//
// Those of a recording say how it was made: to which file, and on which port. A
// replay must not write over the one, and another process may have the other.

/** A replay of what was recorded does not record over it. */
const records = ['--record']
const places = ['--record', '--port', '-p', '--host', '--schema', '--allow-unauthenticated']

const switches: readonly string[] = ['--allow-unauthenticated']

export function stdioArguments(args: readonly string[] = ['--stdio']): string[] {
  return without(args, records)
}

/** Where `path` is that of the schema; `$port` stands for the port. */
export function httpArguments(args: readonly string[] = []): {
  readonly args: string[]
  readonly path: string
} {
  const schema = valueOf(args, '--schema')
  const rest = without(args, places).filter((arg, at) => arg !== '--stdio' && !(at === 0 && arg === 'stdio'))
  return {
    args: [...rest, '--port', '$port'],
    path: schema === undefined ? '/mcp' : `/api/${encodeURIComponent(schema)}/mcp`,
  }
}

function without(args: readonly string[], names: readonly string[]): string[] {
  const takes = (arg: string | undefined): boolean =>
    arg !== undefined && names.includes(arg) && !switches.includes(arg)
  return args.filter((arg, at) => {
    const [name = ''] = arg.split('=', 1)
    return !names.includes(name) && !takes(args[at - 1])
  })
}

function valueOf(args: readonly string[], name: string): string | undefined {
  const joined = args.find((arg) => arg.startsWith(`${name}=`))
  if (joined !== undefined) return joined.slice(name.length + 1)
  const at = args.indexOf(name)
  return at < 0 ? undefined : args[at + 1]
}
