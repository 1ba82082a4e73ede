import { Counter, Histogram } from 'prom-client';

/** Seconds, from a reply within one machine to a model's answer of many tokens. */
const SECONDS = [0.001, 0.005, 0.02, 0.1, 0.5, 2, 10, 60];

/**
 * Prometheus metrics of this process's bus traffic. Labels have few values: no runs, no instances, nothing that a
 * client can choose.
 */
const published = new Counter({
  name: 'uirl_messages_published_total',
  help: 'messages put into streams, by what they are about',
  labelNames: ['operation'],
});
const handled = new Histogram({
  name: 'uirl_message_handling_seconds',
  help: 'time from the delivery of a message to the end of its handler, by stream and whether it was handled',
  labelNames: ['stream', 'outcome'],
  buckets: SECONDS,
});
const deadLetters = new Counter({
  name: 'uirl_dead_letters_total',
  help: 'messages that could not be read or handled',
  labelNames: ['service'],
});
const requested = new Histogram({
  name: 'uirl_request_seconds',
  help: 'time until a request was answered, by what was asked and whether the answer is a failure',
  labelNames: ['operation', 'outcome'],
  buckets: SECONDS,
});
const answered = new Histogram({
  name: 'uirl_answer_seconds',
  help: 'time in which a request of others was answered, by what was asked and whether the answer is a failure',
  labelNames: ['operation', 'outcome'],
  buckets: SECONDS,
});

export type Outcome = 'ok' | 'failed';

export const measures = {
  published: (operation: string): void => published.inc({ operation }),
  deadLetter: (service: string): void => deadLetters.inc({ service }),
  /** Each starts a measurement and returns a function that ends it. */
  handling: (stream: string) => ending(handled, { stream }),
  requesting: (operation: string) => ending(requested, { operation }),
  answering: (operation: string) => ending(answered, { operation }),
};

function ending(histogram: Histogram, labels: Record<string, string>): (outcome: Outcome) => void {
  const end = histogram.startTimer(labels);
  return (outcome) => void end({ outcome });
}
