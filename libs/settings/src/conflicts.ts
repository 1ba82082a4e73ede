import { isDeepStrictEqual } from 'node:util';
import {
  completeOptions,
  describeOptions,
  filesOf,
  PluginError,
  type AdvantageComponent,
  type ComponentChoice,
  type ComponentKind,
  type ComponentRegistry,
  type LossInput,
  type OptionsClass,
  type PolicyLossComponent,
  type RunView,
} from '@ui-rl/plugin-kit';
import type { SettingsProblem } from './errors';
import { MAX_OPEN_TRAJECTORIES, openTrajectories } from './open-trajectories';
import { join } from './option-index';
import { CriticGroup, CurriculumGroup, RunFile } from './run-file';

type Refuse = (message: string) => void;

/** Options that exclude each other, and conflicts that components report with the rest of the run. */
export function conflictsOf(run: RunFile, registry: ComponentRegistry): SettingsProblem[] {
  const problems: SettingsProblem[] = [];
  const refuse: Refuse = (message) => problems.push({ category: 'conflict', message });
  checkAlgorithm(run, registry, refuse);
  checkReplacing(run, registry, refuse);
  checkReplay(run, registry, refuse);
  checkCritic(run, registry, refuse);
  checkTeacher(run, registry, refuse);
  checkCurriculum(run, refuse);
  checkLength(run, refuse);
  checkBatch(run, refuse);
  checkOpenTrajectories(run, refuse);
  checkLogPath(run, refuse);
  checkPace(run, refuse);
  checkAgents(run, refuse);
  checkHistory(run, refuse);
  checkGrammar(run, registry, refuse);
  checkWarmStart(run, registry, refuse);
  checkComponents(run, registry, refuse);
  return problems;
}

function checkAlgorithm({ algorithm, rollout }: RunFile, registry: ComponentRegistry, refuse: Refuse): void {
  const advantage = registry.get('advantage', algorithm.advantage.name);
  const loss = registry.get('policy-loss', algorithm.loss.name);
  if (!goesWith(loss, advantage)) {
    const others = registry.all('policy-loss').map(({ component }) => component);
    const fitting = others.filter((other) => goesWith(other, advantage)).map(({ name }) => name);
    const partners = fitting.length === 0 ? 'no loss there is' : fitting.join(' or ');
    refuse(`algorithm.loss is ${loss.name}, but algorithm.advantage ${advantage.name} goes with ${partners}`);
  }
  const least = advantage.minGroupSize ?? (advantage.gives === 'selection' ? 1 : 2);
  if (rollout.group_size < least) {
    refuse(
      `rollout.group_size is ${rollout.group_size}, but ${advantage.name} compares the episodes of a group: at least ${least}`,
    );
  } else if (loss.scope === 'pair' && rollout.group_size < 2) {
    refuse(
      `rollout.group_size is ${rollout.group_size}, but algorithm.loss ${loss.name} compares the episodes of a group in pairs: at least 2`,
    );
  }
  if (algorithm.overlong_buffer > rollout.max_tokens) {
    refuse(
      `algorithm.overlong_buffer is ${algorithm.overlong_buffer}, but an answer has at most rollout.max_tokens (${rollout.max_tokens})`,
    );
  }
  if (algorithm.overlong_penalty !== undefined && algorithm.overlong_buffer === 0) {
    refuse('algorithm.overlong_penalty would have no effect: it needs algorithm.overlong_buffer above 0');
  }
  if (algorithm.kl_penalty_coef > 0 && !loss.inputs.includes('advantages')) {
    refuse(
      `algorithm.kl_penalty_coef changes advantages, which algorithm.loss ${loss.name} does not read: add a regularizer kl instead`,
    );
  }
  const names = algorithm.regularizers.map(({ name }) => name);
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice !== undefined) refuse(`algorithm.regularizers names ${twice} twice`);
  if (algorithm.loss_aggregation === 'constant' && algorithm.constant_tokens === undefined) {
    refuse('algorithm.loss_aggregation constant needs algorithm.constant_tokens');
  }
}

function checkReplacing({ algorithm }: RunFile, registry: ComponentRegistry, refuse: Refuse): void {
  const advantage = registry.get('advantage', algorithm.advantage.name);
  if (!algorithm.dynamic_sampling || advantage.learnsFromEveryGroup !== true) return;
  refuse(
    `algorithm.dynamic_sampling is true, but algorithm.advantage ${advantage.name} learns from every group, so that none would be replaced: leave it out, or set it to false`,
  );
}

function checkReplay({ algorithm }: RunFile, registry: ComponentRegistry, refuse: Refuse): void {
  if (algorithm.replayed_successes === 0) return;
  const advantage = registry.get('advantage', algorithm.advantage.name);
  const { name: loss, scope } = registry.get('policy-loss', algorithm.loss.name);
  const said = `algorithm.replayed_successes is ${algorithm.replayed_successes}`;
  const without = 'set algorithm.replayed_successes to 0';
  if (advantage.gives === 'selection' || advantage.learnsFromEveryGroup === true) {
    refuse(
      `${said}, but algorithm.advantage ${advantage.name} does not compare the episodes of a group: choose one that does, such as dr_grpo, or ${without}`,
    );
  }
  if (scope === 'pair') {
    refuse(
      `${said}, but algorithm.loss ${loss} pairs the episodes of a group, and a replayed one belongs to none: ${without}`,
    );
  }
}

/** A critic is trained only if its values are used; otherwise its options would have no effect. */
function checkCritic(
  { algorithm, critic, training }: RunFile,
  registry: ComponentRegistry,
  refuse: Refuse,
): void {
  const advantage = registry.get('advantage', algorithm.advantage.name);
  const policyLoss = registry.get('policy-loss', algorithm.loss.name);
  const regularizers = algorithm.regularizers.map(({ name }) => registry.get('regularizer', name));
  if ([advantage, policyLoss, ...regularizers].some(({ inputs }) => inputs?.includes('values'))) {
    const loss = registry.get('policy-loss', critic.loss.name);
    if (loss.trains !== 'critic') refuse(`critic.loss is ${loss.name}, which is for policies`);
    if (training.max_steps > 0 && critic.warmup_steps >= training.max_steps) {
      refuse(
        `critic.warmup_steps is ${critic.warmup_steps}, but the run ends after training.max_steps (${training.max_steps}): the policy would never be trained`,
      );
    }
    return;
  }
  const { options } = completeOptions(CriticGroup, {}, { where: () => 'defaults', components: registry });
  for (const option of differing(CriticGroup, critic, options, 'critic')) {
    refuse(
      `${option} would have no effect: algorithm.advantage ${advantage.name} and algorithm.loss ${policyLoss.name} ` +
        'read no values, so that no critic is trained',
    );
  }
}

function checkTeacher({ algorithm, teacher }: RunFile, registry: ComponentRegistry, refuse: Refuse): void {
  const { name, inputs } = registry.get('advantage', algorithm.advantage.name);
  const given = Object.entries(teacher).filter(([, value]) => value !== undefined);
  const needsTeacher = inputs?.includes('teacher_logprobs') === true;
  if (needsTeacher && teacher.name === undefined && teacher.load_checkpoint === undefined) {
    refuse(
      `algorithm.advantage ${name} learns from a teacher: name one with teacher.name or teacher.load_checkpoint`,
    );
  }
  if (needsTeacher) return;
  for (const [option] of given) {
    refuse(
      `teacher.${option} would have no effect: algorithm.advantage ${name} has no teacher, but distillation does`,
    );
  }
}

/** Paths of the options of a group that differ from its defaults, including nested groups and chosen components. */
function differing(type: OptionsClass, group: object, defaults: object, path: string): string[] {
  return describeOptions(type).flatMap(({ name, group: inner, choice }) => {
    const [found, untouched] = [group, defaults].map((each) => (each as Record<string, unknown>)[name]);
    const own = join(path, name);
    if (isDeepStrictEqual(found, untouched)) return [];
    if (inner !== undefined) return differing(inner, found as object, untouched as object, own);
    return choice === undefined
      ? [own]
      : differingIn(found as ComponentChoice, untouched as ComponentChoice, own);
  });
}

/** The choice itself if it is another component, else the options that differ. */
function differingIn(found: ComponentChoice, untouched: ComponentChoice, path: string): string[] {
  if (found.name !== untouched.name) return [path];
  const options = Object.keys({ ...found, ...untouched });
  return options
    .filter((name) => !isDeepStrictEqual(found[name], untouched[name]))
    .map((name) => join(path, name));
}

/** Signed advantages fit losses that read them or form pairs from them; a selection fits losses that imitate. */
function goesWith(loss: PolicyLossComponent, advantage: AdvantageComponent): boolean {
  if (loss.trains === 'critic') return false;
  const readsAdvantages = loss.inputs.includes('advantages') || loss.scope === 'pair';
  return readsAdvantages === (advantage.gives !== 'selection');
}

function checkCurriculum({ rollout: { curriculum } }: RunFile, refuse: Refuse): void {
  const { by, lowest, highest } = curriculum;
  if (lowest > highest) {
    refuse(
      `rollout.curriculum.lowest is ${lowest}, above rollout.curriculum.highest (${highest}): no task would be trained`,
    );
  }
  const { memory, explore } = new CurriculumGroup();
  for (const [name, untouched] of Object.entries({ memory, explore })) {
    if (by !== 'none' || curriculum[name as 'memory'] === untouched) continue;
    refuse(
      `rollout.curriculum.${name} would have no effect: it needs rollout.curriculum.by success or difficulty`,
    );
  }
}

function checkLength({ training, async: pace }: RunFile, refuse: Refuse): void {
  const { max_steps, max_minutes, total_minutes, epochs, warm_start } = training;
  const isTimed = max_minutes > 0 || total_minutes > 0;
  if (max_steps === 0 && !isTimed && epochs === undefined && !warm_start.only) {
    refuse(
      'the training has no end: give training.max_steps, training.epochs, training.max_minutes or training.total_minutes',
    );
  }
  if (epochs !== undefined && max_steps > 0) {
    refuse(
      'training.epochs and training.max_steps both say how many steps are trained: leave one of them out',
    );
  }
  if (epochs !== undefined && warm_start.only) {
    refuse(
      'training.epochs would have no effect: the training ends with its warm start (training.warm_start.only)',
    );
  }
  if (training.num_substeps > training.groups_per_batch) {
    refuse(
      `training.num_substeps is ${training.num_substeps}, and training.groups_per_batch only ${training.groups_per_batch}: ` +
        'an optimizer step needs a group of the batch, or more',
    );
  }
  if (training.deterministic && pace.max_steps_off_policy > 0) {
    refuse(
      'training.deterministic needs async.max_steps_off_policy 0: otherwise timing decides which policy samples',
    );
  }
}

function checkPace({ async: pace }: RunFile, refuse: Refuse): void {
  if (pace.max_steps_off_policy > 0) return;
  if (pace.in_flight_updates) {
    refuse(
      'async.in_flight_updates needs async.max_steps_off_policy of at least 1: with 0 nothing is being sampled when weights change',
    );
  }
  // 0 is the effective value.
  if (pace.straggler_factor !== undefined && pace.straggler_factor !== 0) {
    refuse(
      'async.straggler_factor would have no effect: it needs async.max_steps_off_policy of at least 1, since with 0 every step waits for all of its episodes',
    );
  }
}

/** Options of actors that have no effect with outside agents. */
function checkAgents({ model, rollout }: RunFile, refuse: Refuse): void {
  if (rollout.played_by !== 'agents') return;
  if (rollout.constrain_actions) {
    refuse(
      'rollout.constrain_actions is true, but outside agents (rollout.played_by) write their answers as they like',
    );
  }
  const { history_turns: turns = 1 } = model;
  for (const [option, isSet] of [
    ['model.history_turns', turns !== 1],
    ['rollout.history_screenshots', rollout.history_screenshots !== undefined],
  ]) {
    if (!isSet) continue;
    refuse(
      `${option} would have no effect: outside agents (rollout.played_by) say themselves which earlier turns the policy reads`,
    );
  }
}

function checkHistory({ model: { history_turns: turns }, rollout }: RunFile, refuse: Refuse): void {
  const { history_screenshots: screenshots, played_by: player } = rollout;
  if (player === 'agents' || turns === undefined || screenshots === undefined || screenshots < turns) return;
  refuse(
    `rollout.history_screenshots is ${screenshots} and would have no effect: model.history_turns ${turns} keeps no more turns. ` +
      'Lower it, or leave model.history_turns out to keep all turns as text',
  );
}

function checkBatch({ training, rollout }: RunFile, refuse: Refuse): void {
  const { batch_size: episodes, groups_per_batch: groups } = training;
  const { group_size: size } = rollout;
  if (episodes === undefined || episodes === groups * size) return;
  refuse(
    episodes % size === 0
      ? `training.batch_size is ${episodes} episodes, but training.groups_per_batch ${groups} times rollout.group_size ${size} are ${groups * size}: leave one of them out`
      : `training.batch_size is ${episodes} episodes, which is not a multiple of rollout.group_size ${size}`,
  );
}

function checkOpenTrajectories(run: RunFile, refuse: Refuse): void {
  const { training } = run;
  const open = openTrajectories(run);
  if (open > MAX_OPEN_TRAJECTORIES) {
    const batch = training.batch_size === undefined ? 'training.groups_per_batch' : 'training.batch_size';
    refuse(
      `up to ${open} episodes would wait for their batch, at most ${MAX_OPEN_TRAJECTORIES} can: lower ${batch}, ` +
        'rollout.group_size, async.max_steps_off_policy or algorithm.dynamic_sampling_limit',
    );
  }
}

function checkLogPath({ logging }: RunFile, refuse: Refuse): void {
  if (logging.log_path !== undefined && logging.log_dir !== undefined) {
    refuse('logging.log_path and logging.log_dir both name the folder of the run: leave one of them out');
  }
}

/** Action formats of plugins are checked in their thread, at the first episode. */
function checkGrammar({ model, rollout }: RunFile, registry: ComponentRegistry, refuse: Refuse): void {
  const choice = model.action_format;
  if (!rollout.constrain_actions || registry.moduleOf('action-dialect', choice.name) !== undefined) return;
  if (registry.create('action-dialect', choice, {}).grammar === undefined) {
    refuse(`rollout.constrain_actions is true, but model.action_format ${choice.name} has no grammar`);
  }
}

/** Loss inputs that are available for tokens of stored episodes. */
const STORED_INPUTS: readonly LossInput[] = ['old_logprobs', 'sample_logprobs', 'reference_logprobs'];

function checkWarmStart(
  { training: { warm_start } }: RunFile,
  registry: ComponentRegistry,
  refuse: Refuse,
): void {
  if (warm_start.episodes === undefined) return;
  const { name, inputs, scope, trains } = registry.get('policy-loss', warm_start.loss.name);
  if (trains === 'critic') refuse(`training.warm_start.loss is ${name}, which trains no policy`);
  const unknown = inputs.filter((input) => !STORED_INPUTS.includes(input));
  if (unknown.length > 0) {
    refuse(
      `training.warm_start.loss is ${name}, which reads ${unknown.join(' and ')}: stored episodes have none`,
    );
  }
  if (scope === 'pair' && warm_start.reward_threshold !== 0) {
    refuse(
      `training.warm_start.reward_threshold would have no effect: ${name} compares the episodes of pairs and ignores their return`,
    );
  }
  if (warm_start.steps !== undefined && warm_start.epochs !== 1) {
    refuse('training.warm_start.epochs would have no effect beside training.warm_start.steps');
  }
}

/**
 * Kinds that are created from their options only, so that errors of `create` can be reported before the run starts.
 */
const MADE_OF_OPTIONS = [
  'action-dialect',
  'advantage',
  'policy-loss',
  'regularizer',
  'correction',
  'optimizer',
] as const;

function checkComponents(run: RunFile, registry: ComponentRegistry, refuse: Refuse): void {
  for (const { path, kind, choice } of choicesOf(run, registry)) {
    const component = registry.get(kind, choice.name);
    const made = () => {
      // Created where it is used: here it has the address of its file, not the file.
      if (filesOf(registry.optionsOf(component), choice, registry).some(({ isAddress }) => isAddress)) return;
      const simple = MADE_OF_OPTIONS.find((each) => each === kind);
      if (simple !== undefined) registry.create(simple, choice, {});
      if (kind === 'schedule') registry.create(kind, choice, { totalSteps: totalStepsOf(run) });
    };
    const told = [
      ...(component.conflicts?.(choice, run as unknown as RunView, path) ?? []),
      ...refusalOf(made),
    ];
    for (const message of told) refuse(`${path}: ${message}`);
  }
}

/** Passes are converted to steps when the tasks are counted. */
function totalStepsOf({ training: { max_steps: steps, epochs } }: RunFile): number {
  return epochs === undefined ? steps : Infinity;
}

function refusalOf(make: () => void): string[] {
  try {
    make();
    return [];
  } catch (error) {
    if (error instanceof PluginError) return [error.message];
    throw error;
  }
}

interface Choice {
  path: string;
  kind: ComponentKind;
  choice: ComponentChoice;
}

/**
 * Every component that a run chooses, including those chosen within options. Without task sources, whose tasks are
 * loaded before a run starts.
 */
function choicesOf(run: RunFile, registry: ComponentRegistry): Choice[] {
  const visit = (type: OptionsClass, group: Record<string, unknown>, prefix: string): Choice[] =>
    describeOptions(type).flatMap(({ name, group: inner, choice }) => {
      const path = join(prefix, name);
      if (inner !== undefined) return visit(inner, group[name] as Record<string, unknown>, path);
      if (choice === undefined || choice.kind === 'task-source') return [];
      const chosen = (choice.many ? (group[name] ?? []) : [group[name]]) as (ComponentChoice | undefined)[];
      return chosen.flatMap((each, index) => {
        if (each === undefined) return [];
        const place = choice.many ? `${path}[${index}]` : path;
        const own = registry.optionsOf(registry.get(choice.kind, each.name));
        return [{ path: place, kind: choice.kind, choice: each }, ...visit(own, each, place)];
      });
    });
  return visit(RunFile, run as unknown as Record<string, unknown>, '');
}
