// The tools of the Time server as `tools/list` shows them, with the texts of the well-known
// Python server: models and their prompts have learned those, so they are the same to the letter.

const ZONE_EXAMPLES = "(e.g., 'America/New_York', 'Europe/London')"
const TARGET_EXAMPLES = "(e.g., 'Asia/Tokyo', 'America/San_Francisco')"
const ANNOTATIONS = { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false }

/** The arguments of `get_current_time`, all required, in the order of its schema. */
export const CURRENT_TIME_ARGUMENTS: readonly string[] = ['timezone']

/** The arguments of `convert_time`, all required, in the order of its schema. */
export const CONVERT_TIME_ARGUMENTS: readonly string[] = ['source_timezone', 'time', 'target_timezone']

/** The result of `tools/list`; the descriptions tell the model which zone is the local one. */
export function toolList(localZone: string): object {
  return { tools: [currentTimeTool(localZone), convertTimeTool(localZone)] }
}

function currentTimeTool(localZone: string): object {
  const timezone = `IANA timezone name ${ZONE_EXAMPLES}. ${localHint(localZone, 'timezone')}`
  const properties = { timezone: stringSchema(timezone) }
  return {
    name: 'get_current_time',
    description: 'Get current time in a specific timezone',
    inputSchema: { type: 'object', properties, required: CURRENT_TIME_ARGUMENTS },
    annotations: ANNOTATIONS,
  }
}

function convertTimeTool(localZone: string): object {
  const source = `Source IANA timezone name ${ZONE_EXAMPLES}. ${localHint(localZone, 'source timezone')}`
  const target = `Target IANA timezone name ${TARGET_EXAMPLES}. ${localHint(localZone, 'target timezone')}`
  const properties = {
    source_timezone: stringSchema(source),
    time: stringSchema('Time to convert in 24-hour format (HH:MM)'),
    target_timezone: stringSchema(target),
  }
  return {
    name: 'convert_time',
    description: 'Convert time between timezones',
    inputSchema: { type: 'object', properties, required: CONVERT_TIME_ARGUMENTS },
    annotations: ANNOTATIONS,
  }
}

function localHint(localZone: string, what: string): string {
  return `Use '${localZone}' as local timezone if no ${what} provided by the user.`
}

function stringSchema(description: string): object {
  return { type: 'string', description }
}
