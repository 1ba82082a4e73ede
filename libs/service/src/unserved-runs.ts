import { failure, type BusService, type Responder } from '@ui-rl/bus';
import {
  ANY,
  isRunId,
  ServiceReadyEvent,
  ServingReply,
  STREAMS,
  subjects,
  UnservedRequest,
  type UnservedReply,
} from '@ui-rl/contracts';
import { DEADLINES, RETRIES, retry } from '@ui-rl/retry';

/** Limit on the reason that is stored with the run. */
const MAX_REASON_CHARACTERS = 4_096;

/**
 * Decides about runs that a host cannot serve, until the bus closes. A run fails if no other host of the same service
 * serves it, or is about to, and none ever did. Task-loaders do this for all services, so that actors and env
 * services need no permission to change the phases of runs.
 */
export function decideOnUnservedRuns(bus: BusService): Responder {
  return bus.respond<UnservedRequest>({
    subject: subjects.unserved(ANY, ANY),
    queue: 'unserved',
    schema: UnservedRequest,
    handle: async ({ reason }, { subject, signal }) => {
      const [, , service, runId] = subject.split('.');
      if (!isRunId(runId)) return failure('bad_request', `"${runId}" is not a run id`);
      const reply: UnservedReply = { verdict: await verdictOn(bus, service, runId, signal) };
      if (reply.verdict === 'failed') {
        bus.logger.error(`run ${runId} has failed: no ${service} can serve it`);
        await bus.runs.changePhase(runId, 'failed', { reason: reason.slice(0, MAX_REASON_CHARACTERS) });
      }
      return reply;
    },
  });
}

async function verdictOn(
  bus: BusService,
  service: string,
  runId: string,
  signal: AbortSignal,
): Promise<UnservedReply['verdict']> {
  if (await wasServed(bus, service, runId)) return 'served_before';
  return (await othersServe(bus, service, runId, signal)) ? 'served_elsewhere' : 'failed';
}

/** Whether a host of the service was ever ready for the run: then the run itself is not at fault. */
async function wasServed(bus: BusService, service: string, runId: string): Promise<boolean> {
  // A trained step proves that all services have worked for it, even if their messages are gone.
  if (((await bus.runs.policy(runId))?.version ?? 0) > 0) return true;
  const subject = subjects.event(runId, 'service_ready');
  for await (const ready of bus.stored(STREAMS.events, subject, ServiceReadyEvent)) {
    if (ready.service === service) return true;
  }
  return false;
}

/** Whether another host serves the run, or is about to. Gives a host that starts at the same time a moment. */
async function othersServe(
  bus: BusService,
  service: string,
  runId: string,
  signal: AbortSignal,
): Promise<boolean> {
  const { ms } = DEADLINES.otherHosts;
  const subject = subjects.serving(service, runId);
  const reply = await retry(RETRIES.request, () => bus.request(subject, { runId }, ms, ServingReply), {
    signal,
    until: performance.now() + ms,
    isTransientResult: (given) => !given.ok && given.error.code === 'no_responders',
  });
  if (signal.aborted) throw new Error('the task-loader stops: another one will be asked');
  // If the state of others is unknown, assume that they exist.
  return reply.ok || reply.error.code !== 'no_responders';
}
