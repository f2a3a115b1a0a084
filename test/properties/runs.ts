/** The number of runs of a property. The environment variable `FC_RUNS` multiplies it. */
export function numRuns(normally: number): number {
  const times = Number(process.env['FC_RUNS'] ?? 1)
  return Math.max(1, Math.round(normally * (Number.isFinite(times) ? times : 1)))
}
