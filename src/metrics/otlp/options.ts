// Where telemetry is sent, and what is said of the sender: the configuration, and the variables of OpenTelemetry above it.
//
// OpenTelemetry specification, SDK environment variables and OTLP exporter configuration.

import { version } from '../../version.js'
import { errorText } from '../../text/error-text.js'

export interface OtlpOptions {
  /** Undefined sends none. */
  readonly metricsUrl: string | undefined
  readonly tracesUrl: string | undefined
  readonly headers: Readonly<Record<string, string>>
  /** Attributes of the sender, as `service.name`. */
  readonly resource: Readonly<Record<string, string>>
  readonly sampler: Sampler
  readonly timeoutMs: number
  readonly metricsIntervalMs: number
}

/** Which calls become spans. */
export interface Sampler {
  /** The part of the traces that begin here, from 0 to 1. */
  readonly ratio: number
  /** Whether a trace that has begun elsewhere is sampled as it says. */
  readonly followsParent: boolean
}

/** An environment, as `process.env` is. */
type Environment = Readonly<Record<string, string | undefined>>

const TIMEOUT_MS = 10_000
const METRICS_INTERVAL_MS = 60_000

/** Undefined where nothing is to be sent; `problem` is called with each value that is not understood. */
export function otlpOptions(
  { endpoint, name }: { readonly endpoint: string | undefined; readonly name: string },
  env: Environment,
  problem: (message: string) => void,
): OtlpOptions | undefined {
  if (env['OTEL_SDK_DISABLED']?.toLowerCase() === 'true') return undefined
  const base = given(env, 'OTEL_EXPORTER_OTLP_ENDPOINT') ?? endpoint
  const urlOf = (signal: 'METRICS' | 'TRACES'): string | undefined => {
    if (given(env, `OTEL_${signal}_EXPORTER`) === 'none') return undefined
    const own = given(env, `OTEL_EXPORTER_OTLP_${signal}_ENDPOINT`)
    return checkedUrl(own ?? (base && `${base.replace(/\/+$/, '')}/v1/${signal.toLowerCase()}`), problem)
  }
  const [metricsUrl, tracesUrl] = [urlOf('METRICS'), urlOf('TRACES')]
  if (metricsUrl === undefined && tracesUrl === undefined) return undefined
  return {
    metricsUrl,
    tracesUrl,
    headers: pairsOf('OTEL_EXPORTER_OTLP_HEADERS', env, problem),
    resource: resourceOf(name, env, problem),
    sampler: samplerOf(env, problem),
    timeoutMs: numberOf('OTEL_EXPORTER_OTLP_TIMEOUT', TIMEOUT_MS, env, problem),
    metricsIntervalMs: numberOf('OTEL_METRIC_EXPORT_INTERVAL', METRICS_INTERVAL_MS, env, problem),
  }
}

function given(env: Environment, name: string): string | undefined {
  const value = env[name]?.trim()
  return value === '' ? undefined : value
}

function checkedUrl(text: string | undefined, problem: (message: string) => void): string | undefined {
  if (text === undefined) return undefined
  if (/^https?:$/.test(URL.canParse(text) ? new URL(text).protocol : '')) return text
  problem(`telemetry is not sent to '${text}': an address of OTLP begins with http:// or https://`)
  return undefined
}

/** A list as of W3C Baggage: `key=value,key=value`, with escapes of `%`. */
function pairsOf(
  name: string,
  env: Environment,
  problem: (message: string) => void,
): Readonly<Record<string, string>> {
  const pairs: Record<string, string> = {}
  for (const each of given(env, name)?.split(',') ?? []) {
    const [key = '', ...rest] = each.split('=')
    try {
      if (key.trim() === '' || rest.length === 0) throw new Error('it is not written as key=value')
      pairs[key.trim()] = decodeURIComponent(rest.join('=').trim())
    } catch (error) {
      // A header may hold a key of the collector.
      problem(`a member of ${name} is left out: ${errorText(error)}`)
    }
  }
  return pairs
}

function resourceOf(
  name: string,
  env: Environment,
  problem: (message: string) => void,
): Readonly<Record<string, string>> {
  return {
    'service.name': name,
    'service.version': version,
    ...pairsOf('OTEL_RESOURCE_ATTRIBUTES', env, problem),
    ...(given(env, 'OTEL_SERVICE_NAME') && { 'service.name': given(env, 'OTEL_SERVICE_NAME') ?? name }),
    'telemetry.sdk.name': 'mcps-proxy',
    'telemetry.sdk.language': 'nodejs',
    'telemetry.sdk.version': version,
  }
}

function samplerOf(env: Environment, problem: (message: string) => void): Sampler {
  const name = given(env, 'OTEL_TRACES_SAMPLER') ?? 'parentbased_always_on'
  const [, parent, kind] = /^(parentbased_)?(always_on|always_off|traceidratio)$/.exec(name) ?? []
  if (kind === undefined) problem(`OTEL_TRACES_SAMPLER is '${name}', which is unknown; every call is traced`)
  const followsParent = kind === undefined || parent !== undefined
  if (kind === 'always_off') return { ratio: 0, followsParent }
  if (kind !== 'traceidratio') return { ratio: 1, followsParent }
  const text = given(env, 'OTEL_TRACES_SAMPLER_ARG') ?? '1'
  const ratio = Number(text)
  if (ratio >= 0 && ratio <= 1) return { ratio, followsParent }
  problem(`OTEL_TRACES_SAMPLER_ARG is '${text}', which is no number from 0 to 1; every call is traced`)
  return { ratio: 1, followsParent }
}

function numberOf(
  name: string,
  fallback: number,
  env: Environment,
  problem: (message: string) => void,
): number {
  const text = given(env, name)
  if (text === undefined) return fallback
  const value = Number(text)
  if (Number.isInteger(value) && value > 0 && value <= 2_147_483_647) return value
  problem(`${name} is '${text}', which is no number of milliseconds; it is ${fallback}`)
  return fallback
}
