import { Controller, Inject } from '@nestjs/common';
import { failure, RequestHandler } from '@ui-rl/bus';
import {
  type EnvCloseReply,
  EnvCloseRequest,
  type EnvStepReply,
  EnvStepRequest,
  subjects,
} from '@ui-rl/contracts';
import { RunEnvironments } from './run-environments';

type Failure = ReturnType<typeof failure>;

/** Handles requests for the sessions of this process. */
@Controller()
export class EnvController {
  constructor(@Inject(RunEnvironments) private readonly environments: RunEnvironments) {}

  @RequestHandler(subjects.envStep('{instance}'), { schema: EnvStepRequest })
  async step(request: EnvStepRequest): Promise<EnvStepReply | Failure> {
    const sessions = this.environments.ofSession(request.sessionId);
    if (sessions === undefined) return noSession(request.sessionId);
    const reply = await sessions.step(request);
    return reply.ok ? reply.value : reply;
  }

  @RequestHandler(subjects.envClose('{instance}'), { schema: EnvCloseRequest })
  async close({ sessionId }: EnvCloseRequest): Promise<EnvCloseReply | Failure> {
    const sessions = this.environments.ofSession(sessionId);
    if (sessions === undefined) return noSession(sessionId);
    const reply = await sessions.closeSession(sessionId);
    return reply.ok ? reply.value : reply;
  }
}

function noSession(sessionId: string): Failure {
  return failure('no_session', `there is no session ${sessionId}`);
}
