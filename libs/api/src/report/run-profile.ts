import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { profileOf, type RunProfile, type StepMetrics } from '@ui-rl/contracts';
import { percent } from './intervals';

/** The file that the `jsonl` tracker writes into the folder of a run. */
const METRICS_FILE = 'metrics.jsonl';

/**
 * @param path folder of a run, or the `metrics.jsonl` in it
 * @throws Error if the file is missing or has no step of reinforcement learning
 */
export async function readProfile(path: string): Promise<RunProfile> {
  const isFolder = await stat(path).then(
    (found) => found.isDirectory(),
    () => false,
  );
  const file = isFolder ? join(path, METRICS_FILE) : path;
  const text = await readFile(file, 'utf8').catch((cause: unknown) => {
    const expected = `expected the folder of a run whose tracker is jsonl, or its ${METRICS_FILE}`;
    throw new Error(`${file} cannot be read: ${expected}`, { cause });
  });
  // Steps repeated after a restart occur twice; the last entry is valid.
  const steps = new Map<unknown, StepMetrics>();
  for (const [index, line] of text.split('\n').entries()) {
    if (line === '') continue;
    const metrics = parsed(line, `${file}, line ${index + 1}`);
    steps.set(metrics.step, metrics);
  }
  const profile = profileOf(steps.values());
  if (profile !== null) return profile;
  throw new Error(`${file} has no step that trained episodes it had waited for`);
}

/** One line per quantity, one column per run. */
export function profileText(profiles: readonly (RunProfile & { name: string })[]): string {
  const rows: [string, (profile: RunProfile) => string][] = [
    ['steps', ({ steps }) => String(steps)],
    ['minutes of training', ({ seconds }) => (seconds / 60).toFixed(1)],
    ['trained episodes', ({ episodes }) => String(episodes)],
    ['  a minute', ({ episodesPerMinute }) => episodesPerMinute.toFixed(0)],
    ['trainer: waits for episodes', ({ trainer }) => percent(trainer.waiting)],
    ['  trains', ({ trainer }) => percent(trainer.training)],
    ['  saves and serves weights', ({ trainer }) => percent(trainer.checkpoint)],
    ['places for episodes: free', ({ places }) => percent(places.free)],
    ['  wait for the policy', ({ places }) => percent(places.policy)],
    ['  wait for the environment', ({ places }) => percent(places.environment)],
    ['sessions: nothing asked of them', ({ sessionsIdle }) => percent(sessionsIdle)],
    ['a turn: policy, ms', ({ turn }) => (1000 * turn.policy).toFixed(0)],
    ['  environment, ms', ({ turn }) => (1000 * turn.environment).toFixed(0)],
    ['groups a step: replaced, nothing to learn', ({ groupsReplaced }) => groupsReplaced.toFixed(1)],
    ['  trained ones that have a signal', ({ groupsMixed }) => percent(groupsMixed)],
  ];
  const cells = [
    ['', ...profiles.map(({ name }) => name)],
    ...rows.map(([label, of]) => [label, ...profiles.map((profile) => of(profile).replace(/^NaN.*/, '–'))]),
  ];
  const widths = cells[0].map((_, column) => Math.max(...cells.map((row) => row[column].length)));
  const padded = (cell: string, column: number): string =>
    column === 0 ? cell.padEnd(widths[0]) : cell.padStart(widths[column]);
  return cells.map((row) => row.map(padded).join('  ').trimEnd()).join('\n');
}

function parsed(line: string, where: string): StepMetrics {
  try {
    const value: unknown = JSON.parse(line);
    if (typeof value === 'object' && value !== null) return value as StepMetrics;
  } catch {
    // Reported below.
  }
  throw new Error(`${where} is not an object of metrics`);
}
