export { DEADLINES, type Deadline } from './deadlines';
export { RETRIES, type RetryPolicy } from './retries';
export { everyFewSeconds, pauseAfter, REPORT_EVERY_MS, retry, type RetryOptions } from './retry';
export { aborted, sleep, waitAtMost } from './wait';
