import { jsonDialect } from '@ui-rl/actions';
import { type BusService, sha256 } from '@ui-rl/bus';
import {
  EnvCloseRequest,
  EnvOpenRequest,
  EnvStepRequest,
  PolicyActRequest,
  PolicyInfoRequest,
  type PolicyPrompt,
  type Screenshot,
  subjects,
} from '@ui-rl/contracts';
import type { EpisodePlan } from '@ui-rl/episode';
import { verify } from '@ui-rl/plugin-kit';

/** Half of the screen's size. */
const MODEL_IMAGE = { width: 80, height: 112 };

/** A unique screen. */
export function frame(name: string): Screenshot {
  const png = new TextEncoder().encode(`png ${name}`);
  return { png, sha256: sha256(png), width: 160, height: 224 };
}

/** Environment and policy of an episode: their answers, and the requests that they received. */
export class World {
  /** Answers of the policy, turn by turn; afterwards it does not answer. */
  answers: string[] = [];
  /** Overrides answers by the number of requests so far. */
  open?: (attempt: number) => unknown;
  step?: (attempt: number) => unknown;
  act?: (attempt: number) => unknown;
  stateBefore: Record<string, unknown> | null = { screen: 'home' };
  state: Record<string, unknown> = { screen: 'settings' };
  opened = 0;
  readonly steps: EnvStepRequest[] = [];
  readonly asked: PolicyActRequest[] = [];
  /** Screenshots whose model image was requested. */
  readonly sizes: string[] = [];
  /** Prompts whose tokens were counted. */
  readonly counted: PolicyPrompt[] = [];
  readonly closed: string[] = [];

  constructor(private readonly runId: string) {}

  /** Serves the world's side of the protocol; a later world replaces an earlier one. */
  static serve(bus: BusService, runId: string, current: () => World): void {
    bus.respond({
      subject: subjects.envOpen('browser'),
      schema: EnvOpenRequest,
      handle: async () => current().opens(),
    });
    bus.respond({
      subject: subjects.envStep('one'),
      schema: EnvStepRequest,
      handle: async (request) => current().steppedBy(request),
    });
    bus.respond({
      subject: subjects.envClose('one'),
      schema: EnvCloseRequest,
      handle: async ({ sessionId }) => current().closes(sessionId),
    });
    bus.respond({
      subject: subjects.policyAct(runId),
      schema: PolicyActRequest,
      handle: async (request) => current().acts(request),
    });
    bus.respond({
      subject: subjects.policyInfo(runId),
      schema: PolicyInfoRequest,
      handle: async (request) => current().informs(request),
    });
  }

  /** The policy's default reply. */
  reply(request: PolicyActRequest) {
    const turn = Number(request.requestId.split('/').at(-1));
    return {
      promptTokenIds: [1, 2, 3],
      promptImages: request.images.map((image) => (typeof image === 'string' ? image : sha256(image))),
      imageTokens: 1,
      tokenIds: [4, 5],
      logprobs: [-0.1, -0.2],
      text: this.answers[turn] ?? '{"action":"wait","seconds":0}',
      finishReason: 'stop',
      policyVersion: 2,
      adapterDigest: 'digest',
    };
  }

  private opens(): unknown {
    this.opened++;
    const sessionId = `s${this.opened}`;
    const special = this.open?.(this.opened);
    return special ?? { sessionId, instance: 'one', screenshot: frame('first'), state: this.stateBefore };
  }

  private steppedBy(request: EnvStepRequest): unknown {
    this.steps.push(request);
    const special = this.step?.(this.steps.length);
    return special ?? { screenshot: frame(request.stepId), outcome: 'ok', done: false };
  }

  private closes(sessionId: string): unknown {
    this.closed.push(sessionId);
    return { state: this.state };
  }

  private acts(request: PolicyActRequest): unknown {
    this.asked.push(request);
    return this.act?.(this.asked.length) ?? this.reply(request);
  }

  private informs({ screenshot, prompt }: PolicyInfoRequest): unknown {
    const info = { runId: this.runId, step: 0, adapterDigest: 'base', engine: {} };
    if (prompt !== undefined) {
      this.counted.push(prompt);
      return { ...info, promptTokens: 3 };
    }
    this.sizes.push(`${screenshot?.width}×${screenshot?.height}`);
    return { ...info, modelImage: MODEL_IMAGE };
  }
}

/** Default plan of episodes in tests. */
export const PLAN: EpisodePlan = {
  maxTurns: 3,
  historyTurns: 1,
  historyScreenshots: Infinity,
  maxTokens: 16,
  temperature: 1,
  topP: 1,
  topK: 0,
  constrainActions: false,
  promptStyle: 'compact',
  dialect: { name: 'json', instance: jsonDialect },
  verifier: {
    name: 'checks',
    instance: { verify: ({ task, stateAfter }) => verify(task.checks, stateAfter) },
  },
  rewards: [{ name: 'half', instance: { score: ({ success }) => (success === true ? 0.5 : 0) } }],
  rewardsJudge: false,
  turnTimeoutMs: 3_000,
  episodeTimeoutMs: 8_000,
};
