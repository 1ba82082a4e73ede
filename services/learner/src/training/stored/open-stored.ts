import { sha256 } from '@ui-rl/bus';
import { loadTasks, type ComponentRegistry } from '@ui-rl/plugin-kit';
import { makeRenderer, type PromptFolder } from '@ui-rl/models';
import { taskMachine, type RunFile } from '@ui-rl/settings';
import type { LearnerState } from '../../checkpoints/learner-state';
import type { RunWarnings } from '../../warnings';
import { StoredEpisodes, type EpisodeChecks } from './stored-episodes';

/**
 * Validates the episodes of the warm start; undefined if a run has none, or is beyond it.
 * @throws Misconfigured if they cannot be trained on
 */
export async function openStored(
  { training: { warm_start }, model, eval_tasks, environment }: RunFile,
  folder: PromptFolder,
  components: ComponentRegistry,
  state: LearnerState | undefined,
  warnings: RunWarnings,
): Promise<StoredEpisodes | undefined> {
  if (warm_start.episodes === undefined || isOver(state)) return undefined;
  const stored = await StoredEpisodes.open(warm_start.episodes, {
    tokens: folder.family.shape,
    maxSequence: model.max_sequence,
    textsOf: textsOf(folder),
    evaluationTasks: await loadTasks(components, eval_tasks, taskMachine(components), {
      environment: environment.kind.name,
    }),
  });
  for (const [reason, count] of stored.leftOut) {
    await warnings.send(
      'stored_episodes',
      `nothing is learnt from ${count} stored episodes ${reason} (training.warm_start)`,
      `learner.stored_episodes.${sha256(Buffer.from(reason)).slice(0, 16)}`,
    );
  }
  return stored;
}

/** Texts of tokens: with the special tokens that a model writes itself, and without, the earlier form. */
function textsOf(folder: PromptFolder): EpisodeChecks['textsOf'] {
  const renderer = makeRenderer(folder);
  return (tokenIds) => [
    renderer.answerText(tokenIds),
    folder.tokenizer.decode(tokenIds, { skipSpecialTokens: true }),
  ];
}

function isOver(state: LearnerState | undefined): boolean {
  return state?.warmStartSteps !== undefined && state.step >= state.warmStartSteps;
}
