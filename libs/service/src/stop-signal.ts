import { Logger } from '@nestjs/common';
import { DEADLINES, describeError } from '@ui-rl/retry';

/**
 * Runs a function once on the first SIGTERM or SIGINT, then ends the process; a second signal ends it at once. It is run as well where
 * the process that started this one is gone, however that ended: nobody is left then to kill what does not end.
 */
export function onStopSignal(stop: () => Promise<void>): void {
  let stopping = false;
  const end = (): void => {
    stopping = true;
    stop().then(
      () => process.exit(0),
      (error: unknown) => {
        new Logger('stop').error(describeError(error));
        process.exit(1);
      },
    );
  };
  const handle = (): void => (stopping ? process.exit(1) : end());
  process.on('SIGTERM', handle);
  process.on('SIGINT', handle);
  process.once('disconnect', () => {
    setTimeout(() => process.exit(1), DEADLINES.stopProcess.ms).unref();
    if (!stopping) end();
  });
}
