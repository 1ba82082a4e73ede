import { IsIn, IsInt, IsNotEmpty, IsOptional, IsString, Max, Min } from 'class-validator';
import {
  Doc,
  Fits,
  isServerAddress,
  PluginError,
  serverAddress,
  type EngineContext,
  type LoraOptions,
  type LossModel,
  type ModelName,
  type RunView,
  type TrainedModel,
  MAX_WAIT_MS,
} from '@ui-rl/plugin-kit';
import { criticLossConflicts, lossConflicts } from './losses';

/** `mean` averages over the weights of a sequence, and over the sequences of a step. */
export type ServiceLoss = 'sum' | 'mean';

export class TinkerOptions {
  @Doc('address of the service, http://host:port; default: TINKER_BASE_URL of the learner')
  @IsOptional()
  @Fits('an address such as http://host:8123', isServerAddress)
  base_url?: string;

  @Doc(
    'the model as the service names it; default: that of model.name where the service offers it, else the only one it offers',
  )
  @IsOptional()
  @IsString()
  @IsNotEmpty()
  base_model?: string;

  @Doc(
    "what the service makes of the losses of a sequence: sum, as Tinker's API says, or mean, as SkyRL's JAX backend does",
  )
  @IsIn(['sum', 'mean'])
  service_loss: ServiceLoss = 'sum';

  @Doc('longest time for one answer of the service, in milliseconds')
  @IsInt()
  @Min(1)
  @Max(MAX_WAIT_MS)
  request_timeout_ms = 120_000;

  @Doc('time limit for retries of a request, in milliseconds')
  @IsInt()
  @Min(0)
  @Max(MAX_WAIT_MS)
  retry_ms = 300_000;
}

export const ENVIRONMENT = {
  TINKER_BASE_URL:
    "address of the service of Tinker's API, http://host:port; TINKER_API_KEY is sent there only",
  TINKER_API_KEY: 'API key of that service',
} as const;

/** LoRA alpha of Tinker's API, for any rank. */
const ALPHA = 32;

/** Address and API key of the service: the machine, not the run file, decides which address gets the key. */
export function serviceOf(
  { base_url }: TinkerOptions,
  { TINKER_BASE_URL: own, TINKER_API_KEY: key }: Readonly<Record<string, string>>,
): { address: string; key: string | undefined; isTrusted: boolean; withheld: boolean } {
  if (own !== undefined && !isServerAddress(own)) {
    throw new PluginError('option', 'TINKER_BASE_URL is not an address such as http://host:8123');
  }
  if (key !== undefined && !/^[\x21-\x7e]+$/.test(key)) {
    throw new PluginError('option', 'TINKER_API_KEY is not a key: it has spaces or letters beyond ASCII');
  }
  const named = base_url ?? own;
  if (named === undefined) {
    throw new PluginError(
      'option',
      'engine tinker: base_url names no service, and TINKER_BASE_URL of the learner is not set',
    );
  }
  const address = serverAddress(named);
  const isOwn = own !== undefined && serverAddress(own) === address;
  return { address, key: isOwn ? key : undefined, isTrusted: isOwn, withheld: key !== undefined && !isOwn };
}

const LAYERS: Readonly<Record<string, { train_mlp: boolean; train_attn: boolean }>> = {
  'all-linear': { train_mlp: true, train_attn: true },
  'attention+mlp': { train_mlp: true, train_attn: true },
  'mlp+attention': { train_mlp: true, train_attn: true },
  mlp: { train_mlp: true, train_attn: false },
  attention: { train_mlp: false, train_attn: true },
};

type Check = readonly [isWrong: boolean, problem: string];

function problemsOf(checks: readonly Check[]): string[] {
  return checks.flatMap(([isWrong, problem]) => (isWrong ? [problem] : []));
}

type AskedLora = Omit<LoraOptions, 'rslora'> & { rslora?: boolean };

/** Why the service does not support an adapter. */
function loraProblems({ alpha, targets, dropout, vision, rslora }: AskedLora, path: string): string[] {
  const isLayers = typeof targets === 'string' && Object.hasOwn(LAYERS, targets);
  const checks: Check[] = [
    [alpha !== ALPHA, `${path}.alpha is ${alpha}; adapters of Tinker's API have ${ALPHA}`],
    [!isLayers, `${path}.targets has to be one of ${Object.keys(LAYERS).join(', ')}`],
    [dropout !== 0, `${path}.dropout is ${dropout}; Tinker's API drops nothing: 0`],
    [vision, `${path}.vision: adapters of Tinker's API have no part in the vision tower`],
    [rslora === true, `${path}.use_rslora: Tinker's API scales adapters by alpha / rank`],
  ];
  return problemsOf(checks);
}

/** The model fields of `create_model`. */
export interface ModelRequest {
  name: ModelName;
  role: LossModel;
  lora_config: object;
}

/**
 * The models of a run to train: a policy, and a critic if it has one; none for a teacher.
 * @throws PluginError that names the unsupported setting
 */
export function modelRequests({ models, seed }: Pick<EngineContext, 'models' | 'seed'>): ModelRequest[] {
  if (models.every(({ trainable }) => trainable.mode === 'frozen')) return [];
  const count = (role: LossModel): number => models.filter((model) => model.role === role).length;
  if (count('policy') !== 1 || count('critic') > 1) {
    const found = models.map(({ name, role }) => `${name} (${role})`).join(', ');
    throw new PluginError(
      'option',
      `engine tinker trains one policy, and one critic at most; asked for are ${found}`,
    );
  }
  return models.map((model) => ({
    name: model.name,
    role: model.role,
    lora_config: loraConfig(model, seed),
  }));
}

function loraConfig({ name, role, trainable }: TrainedModel, seed: number): object {
  if (trainable.mode !== 'lora') {
    throw new PluginError(
      'option',
      `engine tinker trains adapters, but ${name} is ${trainable.mode}: set model.use_lora`,
    );
  }
  const { lora, adapterDir } = trainable;
  if (adapterDir !== undefined) {
    throw new PluginError('option', `engine tinker cannot send the adapter in ${adapterDir} to the service`);
  }
  const [problem] = loraProblems(lora, role === 'critic' ? 'critic.lora' : 'model.lora');
  if (problem !== undefined) throw new PluginError('option', `engine tinker: ${problem}`);
  return { rank: lora.rank, seed, train_unembed: false, ...LAYERS[lora.targets as string] };
}

/** Settings of a run whose policy a service cannot train, or whose teacher it cannot be. */
export function conflictsOf(options: TinkerOptions, run: RunView, path = 'engine'): string[] {
  const problems =
    path === 'engine'
      ? trainingConflicts(options, run)
      : [...scoringConflicts(run), ...teacherConflicts(options)];
  return problems.map((problem) => `engine tinker: ${problem}`);
}

/** Log-probabilities of the service are those of whole distributions at temperature 1. */
function scoringConflicts({ rollout }: RunView): string[] {
  return problemsOf([
    [
      Number(rollout.temperature ?? 1) !== 1,
      "rollout.temperature has to be 1: Tinker's API trains and scores at no other",
    ],
    [
      Number(rollout.top_p ?? 1) < 1 || Number(rollout.top_k ?? 0) > 0,
      "rollout.top_p has to be 1, rollout.top_k 0: Tinker's API does not say which tokens a cut has kept",
    ],
    [
      rollout.constrain_actions === true,
      "rollout.constrain_actions: Tinker's API knows no grammar of the actions",
    ],
  ]);
}

function teacherConflicts({ service_loss }: TinkerOptions): string[] {
  return problemsOf([
    [service_loss !== 'sum', `service_loss ${service_loss} would have no effect: a teacher is not trained`],
  ]);
}

function trainingConflicts({ service_loss }: TinkerOptions, run: RunView): string[] {
  const { model, training, algorithm, teacher = {} } = run;
  const { use_rslora: rslora, ...lora } = model.lora as LoraOptions & { use_rslora: boolean };
  const checks: Check[] = [
    [model.use_lora !== true, "model.use_lora has to be true: Tinker's API trains adapters"],
    [
      (teacher.name !== undefined || teacher.load_checkpoint !== undefined) && teacher.engine === undefined,
      'teacher.engine has to name the engine of the teacher: tinker with its own options, or local',
    ],
    [
      (training.optimizer as { name: string }).name !== 'adamw',
      "training.optimizer has to be adamw, the one of Tinker's API",
    ],
  ];
  const hasCritic = (algorithm.advantage as { name: string }).name === 'gae';
  return [
    ...problemsOf(checks),
    ...scoringConflicts(run),
    ...(model.use_lora === true ? loraProblems({ ...lora, rslora }, 'model.lora') : []),
    ...lossConflicts(run),
    ...(hasCritic ? criticConflicts(run, service_loss) : []),
    ...(service_loss === 'mean' ? slotConflicts(run) : []),
  ];
}

function criticConflicts(run: RunView, service_loss: ServiceLoss): string[] {
  const { lora, optimizer } = run.critic;
  const asked = { ...(lora as LoraOptions), dropout: 0, vision: false };
  return [
    ...(service_loss === 'mean'
      ? ["algorithm.advantage gae needs a critic, which SkyRL's JAX backend (service_loss mean) has not"]
      : []),
    ...((optimizer as { name: string }).name === 'adamw'
      ? []
      : ["critic.optimizer has to be adamw, the one of Tinker's API"]),
    ...loraProblems(asked, 'critic.lora'),
    ...criticLossConflicts(run),
  ];
}

function evaluatesWarmStart({ warm_start }: RunView[string], evaluation: RunView[string] = {}): boolean {
  const { episodes, only } = (warm_start ?? {}) as { episodes?: string; only?: boolean };
  return episodes !== undefined && only !== true && evaluation.warm_start === true;
}

/**
 * SkyRL's JAX backend keeps a model's sampling weights in its training slot: sampling older weights would overwrite
 * newer ones.
 */
function slotConflicts({ training, evaluation, async: asynchronous }: RunView): string[] {
  const why = "with service_loss mean (SkyRL's JAX backend), which samples from weights where it trains them";
  return [
    ...(Number(training.eval_every) > 0 ? [`training.eval_every has to be 0 ${why}`] : []),
    ...(evaluatesWarmStart(training, evaluation) ? [`evaluation.warm_start has to be false ${why}`] : []),
    ...(Number(asynchronous?.max_steps_off_policy ?? 0) > 0
      ? [`async.max_steps_off_policy has to be 0 ${why}`]
      : []),
  ];
}
