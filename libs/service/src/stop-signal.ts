import { Logger } from '@nestjs/common';
import { describeError } from '@ui-rl/bus';

/** Runs a function once on the first SIGTERM or SIGINT, then ends the process; a second signal ends it at once. */
export function onStopSignal(stop: () => Promise<void>): void {
  let stopping = false;
  const handle = () => {
    if (stopping) process.exit(1);
    stopping = true;
    stop().then(
      () => process.exit(0),
      (error: unknown) => {
        new Logger('stop').error(describeError(error));
        process.exit(1);
      },
    );
  };
  process.on('SIGTERM', handle);
  process.on('SIGINT', handle);
}
