/** Why a forwarded message may differ from the incoming one. `docs/wire.md` has the details. */
export const reasons: Readonly<Record<string, string>> = {
  id: 'The other end knows the request by another id, since several clients or servers share it.',
  name: 'The public name is not the name that the server has.',
  describe: 'The name of the server stands in front of the description of its tool.',
  repair: 'The server lists a member as null or empty that the protocol gives another type.',
  argument: 'A profile sets this argument of the tool.',
  'progress-token': 'Several clients or servers share a connection, so the progress token is another one.',
  capability: 'The two ends cannot use this capability together.',
  task: 'One of the two ends cannot have tasks, so the call is an ordinary one.',
  meta: 'Client and server speak revisions of which only one carries this in _meta.',
  input:
    'Answers of the client to questions of the server, or a state of the server, in the form of the other revision.',
  'request-state': 'The state of the server is signed, so that no other client can use it.',
  'result-type': 'Only one of the two revisions says of a result whether it is complete.',
  'cache-hint': 'Only one of the two revisions says how long a resource holds.',
  'error-code': 'The other revision has another number for this error.',
  subscription: 'The id of the subscription is that of the request on the other side.',
  uri: 'Two servers list this address for apps or skills of their own, so the second one is shown with its server.',
  'structured-wrap': 'A structured result that is no object becomes a member of one, for an older client.',
  trace: 'The call is traced: the server gets the traceparent of the span towards it.',
  'line-safe': 'A line break between tokens becomes a space, so that the message stays one line.',
}
