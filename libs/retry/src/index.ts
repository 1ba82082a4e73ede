export { DEADLINES, RETRIES, type Deadline, type RetryPolicy } from './policy';
export { everyFewSeconds, pauseAfter, REPORT_EVERY_MS, retry, type RetryOptions } from './retry';
export { aborted, sleep, waitAtMost } from './wait';
