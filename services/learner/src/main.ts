import 'reflect-metadata';
import { Logger } from '@nestjs/common';
import { BusService, describeError, onStopSignal } from '@ui-rl/bus';
import { logLevels, parseRunFile, readServiceSettings } from '@ui-rl/settings';
import { LearnerHost } from './host';
import { learnerOptions } from './run-options';

/** Owns the device of a run: answers with its policy and trains it. Waits for NATS and for a run. */
async function main(): Promise<void> {
  const settings = readServiceSettings('learner');
  Logger.overrideLogger(logLevels(settings.logLevel));
  const bus = await BusService.connect(settings.nats);
  const host = new LearnerHost({
    bus,
    runId: settings.run,
    optionsOf: ({ record }) => learnerOptions(parseRunFile(record.config, `run ${record.runId}`), settings),
    onFailure: endProcess,
  });
  onStopSignal(async () => {
    await host.stop();
    await bus.close();
  });
  await host.serve();
}

/** Episodes that were not trained yet come again to the process that takes over. */
function endProcess(error: unknown): void {
  const stack = error instanceof Error ? error.stack : undefined;
  new Logger('learner').fatal(`the learner ends: ${describeError(error)}`, stack);
  process.exit(1);
}

main().catch(endProcess);
