import { UnacceptableMessage } from '@ui-rl/bus';
import { EVENT_TYPES, type EventType, isRunId, type RunEvent } from '@ui-rl/contracts';

type Check = (value: unknown) => boolean;

const text: Check = (value) => typeof value === 'string';
const whole: Check = (value) => Number.isSafeInteger(value) && Math.abs(value as number) < 2 ** 31;
const number: Check = (value) => typeof value === 'number' && Number.isFinite(value);
const object: Check = (value) => typeof value === 'object' && value !== null && !Array.isArray(value);
const texts: Check = (value) => Array.isArray(value) && value.every(text);
const pair: Check = (value) => Array.isArray(value) && value.length === 2 && value.every(number);
const scores: Check = (value) =>
  Array.isArray(value) &&
  value.every(
    (score: Record<string, unknown> | null) =>
      object(score) &&
      text(score?.taskId) &&
      text(score?.description) &&
      whole(score?.successes) &&
      whole(score?.episodes),
  );

/** What each type of event must hold besides `type`, `runId` and `at`. */
const FIELDS: Record<EventType, Record<string, [Check, string]>> = {
  run_created: { config: [object, 'an object'] },
  phase: { phase: [text, 'text'] },
  service_ready: { service: [text, 'text'], instance: [text, 'text'] },
  rollout_started: { rolloutId: [text, 'text'], actor: [text, 'text'] },
  train_step: {
    step: [whole, 'a whole number'],
    rolloutIds: [texts, 'a list of texts'],
    metrics: [object, 'an object'],
  },
  checkpoint: {
    step: [whole, 'a whole number'],
    name: [text, 'text'],
    path: [text, 'text'],
    adapterDigest: [text, 'text'],
  },
  evaluation: {
    evaluationId: [text, 'text'],
    stage: [text, 'text'],
    set: [text, 'text'],
    policyVersion: [whole, 'a whole number'],
    checkpoint: [text, 'text'],
    successRate: [number, 'a number'],
    interval: [pair, 'two numbers'],
    episodes: [whole, 'a whole number'],
    invalid: [whole, 'a whole number'],
    tasks: [scores, 'a list of {taskId, description, successes, episodes}'],
  },
  warning: { service: [text, 'text'], code: [text, 'text'], message: [text, 'text'] },
  dead_letter: {
    service: [text, 'text'],
    subject: [text, 'text'],
    key: [text, 'text'],
    reason: [text, 'text'],
  },
};

/** @throws UnacceptableMessage that names what is wrong */
export function readEvent(value: Record<string, unknown>): RunEvent {
  const { type, runId, at } = value;
  if (!EVENT_TYPES.includes(type as EventType)) {
    throw new UnacceptableMessage(
      `unknown event type ${show(type)}, expected one of ${EVENT_TYPES.join(', ')}`,
    );
  }
  if (typeof runId !== 'string' || !isRunId(runId)) throw wrong(type, 'runId', runId, 'a run id');
  if (typeof at !== 'string' || Number.isNaN(Date.parse(at))) throw wrong(type, 'at', at, 'an ISO 8601 time');
  for (const [field, [check, expected]] of Object.entries(FIELDS[type as EventType])) {
    if (!check(value[field])) throw wrong(type, field, value[field], expected);
  }
  return value as unknown as RunEvent;
}

function wrong(type: unknown, field: string, found: unknown, expected: string): UnacceptableMessage {
  return new UnacceptableMessage(`${show(type)} event: ${field} must be ${expected}, found ${show(found)}`);
}

function show(value: unknown): string {
  return value === undefined ? 'nothing' : JSON.stringify(value).slice(0, 80);
}
