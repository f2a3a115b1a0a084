// The members by which messages are routed; see `ambiguity.ts` for what that asks of them.

import { type RoutedNames, routedNames } from './ambiguity.js'

export const envelopeNames: RoutedNames = routedNames([
  'jsonrpc',
  'id',
  'method',
  'params',
  'result',
  'error',
])
export const paramsNames: RoutedNames = routedNames([
  '_meta',
  'name',
  'arguments',
  'uri',
  'ref',
  'cursor',
  'level',
  'requestId',
  'progressToken',
  'protocolVersion',
  'capabilities',
])
export const metaNames: RoutedNames = routedNames(['progressToken'])
