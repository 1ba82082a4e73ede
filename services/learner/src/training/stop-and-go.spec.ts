import { readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Trajectory, Turn } from '@ui-rl/contracts';
import {
  loadComponents,
  type ComponentKind,
  type ComponentRegistry,
  type Engine,
  type TrainedModel,
} from '@ui-rl/plugin-kit';
import { makeRollout, makeTask } from '@ui-rl/testkit';
import { groupOf, turnOf } from '../../test/groups';
import { type Changes, optionsWith, WITH_CRITIC } from '../../test/learning-options';
import { CRITIC, POLICY, RunModels } from '../checkpoints/run-models';
import { type LearningOptions, makeAlgorithm } from './algorithm';
import { BatchTrainer } from './batch-trainer';
import { filesOfCarried, NOTHING_CARRIED, readCarried, type Carried } from './stored/kept-episodes';

const MODEL = join(__dirname, '../../../../test/golden/fixtures/qwen3-vl-a/model');
const STEPS = 3;
/** sha256 of two screens. */
const [HOME, SETTINGS] = ['a', 'b'].map((digit) => digit.repeat(64));
const WITH_MOMENTUM = 'sgd with momentum';
const WITH_BUFFER = 'rejection sampling with a buffer';

const LORA = {
  mode: 'lora' as const,
  // Dropout seeds also have to resume.
  lora: { rank: 2, alpha: 4, targets: 'all-linear', dropout: 0.1, vision: false, rslora: false },
};

const USUAL: Changes = {
  'training.max_steps': STEPS,
  'algorithm.advantage': { name: 'grpo' },
  'algorithm.loss': { name: 'importance_sampling' },
  'training.learning_rate': 1e-2,
  // In the second one, ratios are no longer 1.
  'training.num_substeps': 2,
};

/** Typical options of each algorithm; every component that takes part in training has a case. */
const CASES: Readonly<Record<string, Changes>> = {
  grpo: {},
  'dr. grpo': {
    'algorithm.advantage': { name: 'dr_grpo' },
    'algorithm.loss': { name: 'ppo', clip_low: 0.2, clip_high: 0.28, dual_clip: 3 },
    'algorithm.loss_aggregation': 'constant',
    'algorithm.constant_tokens': 16,
  },
  rloo: { 'algorithm.advantage': { name: 'rloo' }, 'algorithm.regularizers': [{ name: 'kl', coef: 0.1 }] },
  'reinforce++': {
    'algorithm.advantage': { name: 'reinforce_plus_plus' },
    'algorithm.loss': { name: 'ppo' },
    'algorithm.kl_penalty_coef': 0.1,
    'algorithm.compute_post_kl': true,
    'training.num_minibatches': 2,
  },
  gigpo: { 'algorithm.advantage': { name: 'gigpo' }, 'algorithm.loss': { name: 'ppo' } },
  distillation: {
    'algorithm.advantage': { name: 'distillation', rewards: true },
    'teacher.name': 'fixture',
  },
  'ppo with a critic': { ...WITH_CRITIC, 'critic.warmup_steps': 1 },
  [WITH_BUFFER]: {
    'algorithm.advantage': {
      ...{ name: 'rejection_sampling', weight_by_success_rate: true, buffer_size: 4, buffer_episodes: 1 },
    },
    'algorithm.loss': { name: 'cross_entropy' },
    'training.num_substeps': 1,
  },
  cispo: { 'algorithm.loss': { name: 'cispo' }, 'algorithm.loss_aggregation': 'sequence-mean' },
  gspo: { 'algorithm.loss': { name: 'gspo' } },
  dro: { 'algorithm.loss': { name: 'dro' } },
  dppo: { 'algorithm.loss': { name: 'dppo', divergence: 'tv' } },
  dpo: { 'algorithm.loss': { name: 'dpo' } },
  'truncated importance sampling': { 'algorithm.correction': { name: 'tis' } },
  'masked importance sampling': { 'algorithm.correction': { name: 'mis', importance_ratio_of: 'turn-mean' } },
  'a bonus for entropy': { 'algorithm.regularizers': [{ name: 'entropy', coef: 0.01 }] },
  'a penalty for long answers': { 'rollout.max_tokens': 6, 'algorithm.overlong_buffer': 4 },
  [WITH_MOMENTUM]: { 'training.optimizer': { name: 'sgd', momentum: 0.9, nesterov: true } },
  muon: { 'training.optimizer': { name: 'muon' } },
  'a learning rate that rises and falls along a line': {
    'training.schedule': { name: 'linear', warmup_steps: 1 },
  },
  'a learning rate that falls along a cosine': { 'training.schedule': { name: 'cosine' } },
};

const optionsOf = (changes: Changes): LearningOptions => optionsWith(components, { ...USUAL, ...changes });

let dir: string;
let components: ComponentRegistry;
beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'stop-and-go-'));
  components = await loadComponents({ packages: [] });
});
afterAll(() => rm(dir, { recursive: true }));

interface Trained {
  /** Digests of the weights after the step, of all models. */
  digests: string[];
  /** Episodes for the next step, sampled before this one was trained: a step late, like stragglers. */
  late: Partial<Trajectory>[];
}

/** The engine of one learner, and the folder of its checkpoints. */
class Machine {
  private constructor(
    readonly engine: Engine,
    readonly dir: string,
  ) {}

  /** The initial checkpoint of runs. */
  get beginning(): string {
    return join(this.dir, 'beginning');
  }

  static async start(name: string, trainable: TrainedModel['trainable']): Promise<Machine> {
    const engine = await components.create(
      'engine',
      { name: 'local', device: 'cpu', threads: 1 },
      {
        modelDir: MODEL,
        cacheDir: tmpdir(),
        models: [
          { name: POLICY, role: 'policy', trainable },
          { name: CRITIC, role: 'critic', trainable: LORA },
        ],
        maxRows: 4,
        maxSequence: 64,
        deterministic: true,
        seed: 1,
        endTokenIds: [],
        componentFiles: [],
        environment: {},
        fetchImage: () => Promise.resolve(null),
        log: () => undefined,
        onProgress: () => undefined,
      },
    );
    const machine = new Machine(engine, join(dir, name));
    await new RunModels(engine, true).save(machine.beginning, {});
    return machine;
  }
}

/** A run as one learner trains it. It knows earlier steps only from restored state. */
class Run {
  private carried: Carried = NOTHING_CARRIED;

  private constructor(
    private readonly machine: Machine,
    private readonly models: RunModels,
    private readonly trainer: BatchTrainer,
    private readonly dir: string,
  ) {}

  static of(machine: Machine, name: string, teacher: Machine): Run {
    const algorithm = makeAlgorithm(optionsOf(CASES[name]), components);
    const { engine } = machine;
    const context = { imageTokenId: -1, imagesOfPrompt: () => Promise.resolve([]) };
    const models = new RunModels(engine, algorithm.critic !== undefined);
    const trainer = new BatchTrainer(engine, algorithm, context, teacher.engine);
    return new Run(machine, models, trainer, join(machine.dir, name));
  }

  /** All steps one after the other. */
  async calm(): Promise<Trained[]> {
    await this.models.restore(this.machine.beginning, { optimizer: true });
    const trained: Trained[] = [];
    for (let step = 0; step < STEPS; step += 1) trained.push(await this.step(step, trained.at(-1)?.late));
    return trained;
  }

  /** Repeats a step of another learner from that one's checkpoint. */
  async resumed(
    other: Run,
    step: number,
    late: Trained['late'],
    { optimizer, carried } = EVERYTHING,
  ): Promise<Trained> {
    const checkpoint = other.pathOf(step);
    await this.models.restore(checkpoint, { optimizer });
    this.carried = carried ? await readCarried(checkpoint) : NOTHING_CARRIED;
    return this.step(step, late);
  }

  /** Plays, trains on and saves two groups of episodes, one of which was played a step earlier. */
  private async step(step: number, late?: Trained['late']): Promise<Trained> {
    const groups = [groupOf(2 * step, await this.play(2 * step, step))];
    if (late !== undefined) groups.push(groupOf(2 * step - 1, structuredClone(late)));
    const next = await this.play(2 * step + 1, step);
    const { carried } = await this.trainer.train(groups, step, 'unchanged', {
      carried: this.carried,
      maxStepsOffPolicy: 1,
    });
    this.carried = carried;
    await this.models.save(this.pathOf(step + 1), filesOfCarried(carried));
    return { digests: this.digestsOf(step + 1), late: next };
  }

  private pathOf(step: number): string {
    return join(this.dir, String(step));
  }

  private digestsOf(step: number): string[] {
    const places = this.models.hasCritic ? ['', CRITIC] : [''];
    return places.map((place) => {
      const file = join(this.pathOf(step), place, 'engine.json');
      return (JSON.parse(readFileSync(file, 'utf8')) as { digest: string }).digest;
    });
  }

  /** Two episodes from one screen: one succeeds in two turns, the other fails in one. */
  private async play(index: number, version: number): Promise<Trained['late']> {
    const turn = async (at: number, reward: number, screenshot: string): Promise<Turn> => {
      const promptTokenIds = [5, 6, 7 + (index % 3), 10 + at];
      const { tokens, logprobs } = await this.machine.engine.sample({
        model: POLICY,
        prompt: { chunks: [{ type: 'text', tokens: promptTokenIds }] },
        maxTokens: 6,
        temperature: 1,
        topP: 1,
        seed: 100 * index + at,
      });
      const said = { tokenIds: tokens, logprobs, promptTokenIds, promptImages: [], imageTokens: 0 };
      return turnOf(0, { ...said, reward, screenshot, policyVersion: version });
    };
    const episodes = [
      { reward: 1, turns: [await turn(0, 0, HOME), await turn(1, 1, SETTINGS)] },
      { reward: 0.25, turns: [await turn(2, 0.25, HOME)] },
    ];
    return episodes.map((episode) => ({
      ...episode,
      request: makeRollout({ task: makeTask({ id: `task-${index % 3}` }) }),
    }));
  }
}

const EVERYTHING = { optimizer: true, carried: true };

/** The state on which these cases depend. */
const FORGETTING: Readonly<Record<string, [string, Partial<typeof EVERYTHING>][]>> = {
  [WITH_MOMENTUM]: [[WITH_MOMENTUM, { optimizer: false }]],
  muon: [['muon', { optimizer: false }]],
  [WITH_BUFFER]: [[WITH_BUFFER, { carried: false }]],
};

describe.each<[string, TrainedModel['trainable'], string[]]>([
  ['an adapter', LORA, Object.keys(CASES)],
  ['all weights', { mode: 'full' }, ['grpo', WITH_MOMENTUM]],
])('of %s', (what, trainable, names) => {
  let first: Machine;
  let second: Machine;
  /** Its weights are those of the beginning. */
  let teacher: Machine;
  beforeAll(async () => {
    first = await Machine.start(`${what}, first`, trainable);
    second = await Machine.start(`${what}, second`, trainable);
    teacher = await Machine.start(`${what}, teacher`, trainable);
  });
  afterAll(() => Promise.all([first, second, teacher].map(({ engine }) => engine.stop())));

  it.each(names)('gives the same weights when another learner continues: %s', async (name) => {
    const [one, other] = [first, second].map((machine) => Run.of(machine, name, teacher));
    const calm = await one.calm();
    const digests = calm.flatMap((trained) => trained.digests);
    expect(new Set(digests).size).toBe(digests.length);
    // In reverse, so that no step starts from the previous state.
    for (let step = STEPS - 1; step > 0; step -= 1) {
      expect(await other.resumed(one, step, calm[step - 1].late)).toEqual(calm[step]);
    }
  });

  it.each(names.flatMap((name): [string, Partial<typeof EVERYTHING>][] => FORGETTING[name] ?? []))(
    'gives others where something is forgotten: %s, %j',
    async (name, what) => {
      const [one, other] = [first, second].map((machine) => Run.of(machine, name, teacher));
      const calm = await one.calm();
      const torn = await other.resumed(one, STEPS - 1, calm[STEPS - 2].late, { ...EVERYTHING, ...what });
      expect(torn.late).toEqual(calm[STEPS - 1].late);
      expect(torn.digests).not.toEqual(calm[STEPS - 1].digests);
    },
  );
});

it.each<[ComponentKind, (options: LearningOptions) => { name: string }[]]>([
  ['advantage', ({ algorithm }) => [algorithm.advantage]],
  ['policy-loss', ({ algorithm, critic }) => [algorithm.loss, critic.loss]],
  ['correction', ({ algorithm }) => [algorithm.correction]],
  ['regularizer', ({ algorithm }) => algorithm.regularizers],
  ['optimizer', ({ training }) => [training.optimizer]],
  ['schedule', ({ training }) => [training.schedule]],
])('has a case for every %s', (kind, chosen) => {
  const names = Object.values(CASES).flatMap((changes) => chosen(optionsOf(changes)).map(({ name }) => name));
  expect([...new Set(names)].toSorted()).toEqual(components.names(kind).toSorted());
});
