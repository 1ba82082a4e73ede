import { Logger } from '@nestjs/common';
import type { Log } from '@ui-rl/plugin-kit';

export const logger = new Logger('learner');

/** For components. */
export const log: Log = (level, message) => {
  logger[level === 'info' ? 'log' : level](message);
};
