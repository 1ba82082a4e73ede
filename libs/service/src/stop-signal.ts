import { Logger } from '@nestjs/common';
import { DEADLINES, describeError } from '@ui-rl/retry';

/**
 * Runs a function once on the first SIGTERM or SIGINT, then exits; a second signal exits immediately. Also runs it
 * when the parent process has ended, however that ended, because no process remains that could kill this one.
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
