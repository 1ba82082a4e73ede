import type { BusService } from '@ui-rl/bus';
import type { RunFile } from '@ui-rl/settings';

export type LogDirBehavior = RunFile['logging']['behavior_if_log_dir_exists'];

/** Runs at the broker that were announced with the same `logging.log_dir`. */
export async function runsWithLogDir(bus: BusService, logDir: string): Promise<string[]> {
  const ids = (await bus.runsBucket.keys('*.record')).map((key) => key.slice(0, -'.record'.length));
  const records = await Promise.all(ids.map((id) => bus.runs.record(id)));
  return records
    .filter((record) => (record?.config as Partial<RunFile> | undefined)?.logging?.log_dir === logDir)
    .map((record) => record!.runId);
}

/**
 * Asks what to do with the checkpoints of earlier runs in a run's folder, if the run file says `ask`.
 * @param ask resolves to the decision; undefined if no user can answer
 */
export async function decideOnLogDir(
  bus: BusService,
  run: RunFile,
  ask: ((question: string) => Promise<string>) | undefined,
): Promise<LogDirBehavior> {
  const { log_dir: logDir, behavior_if_log_dir_exists: behavior } = run.logging;
  if (logDir === undefined || behavior !== 'ask') return behavior;
  const earlier = await runsWithLogDir(bus, logDir);
  if (earlier.length === 0) return behavior;
  const found = `logging.log_dir ${logDir} was used by run ${earlier.join(', ')}`;
  if (ask === undefined) {
    throw new Error(`${found}: choose with --logging.behavior_if_log_dir_exists overwrite, resume or skip`);
  }
  for (;;) {
    const answer = (await ask(`${found}. overwrite, resume or skip? `)).trim();
    if (answer === 'overwrite' || answer === 'resume' || answer === 'skip') return answer;
  }
}
