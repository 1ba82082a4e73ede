import { Controller } from '@nestjs/common';
import { BusService, failure, RequestHandler } from '@ui-rl/bus';
import {
  EnvCloseRequest,
  type EnvCloseReply,
  EnvOpenRequest,
  type EnvOpenReply,
  EnvStepRequest,
  type EnvStepReply,
  type Reply,
  subjects,
} from '@ui-rl/contracts';
import { Sessions } from '@ui-rl/plugin-kit';

/** Placeholders are filled in by the transport. */
const OPEN = subjects.envOpen('{kind}');
const STEP = subjects.envStep('{instance}');
const CLOSE = subjects.envClose('{instance}');

/** Any env service of the kind opens a session; step and close go to the one that holds it. */
@Controller()
export class EnvController {
  constructor(
    private readonly sessions: Sessions,
    private readonly bus: BusService,
  ) {}

  @RequestHandler(OPEN, { queue: 'env', schema: EnvOpenRequest })
  async open(request: EnvOpenRequest): Promise<EnvOpenReply | Failure> {
    const { task, seed, leaseMs, deadlineMs } = request;
    const reply = await this.sessions.open({ task, seed, leaseMs, deadlineMs });
    return unwrap(reply, (opened) => ({ ...opened, instance: this.bus.instance }));
  }

  @RequestHandler(STEP, { schema: EnvStepRequest })
  async step(request: EnvStepRequest): Promise<EnvStepReply | Failure> {
    return unwrap(await this.sessions.step(request), (outcome) => outcome);
  }

  @RequestHandler(CLOSE, { schema: EnvCloseRequest })
  async close({ sessionId }: EnvCloseRequest): Promise<EnvCloseReply | Failure> {
    return unwrap(await this.sessions.closeSession(sessionId), (closed) => closed);
  }
}

type Failure = ReturnType<typeof failure>;

/** The transport wraps values itself and passes failures on. */
function unwrap<T, R>(reply: Reply<T>, value: (value: T) => R): R | Failure {
  return reply.ok ? value(reply.value) : failure(reply.error.code, reply.error.message);
}
