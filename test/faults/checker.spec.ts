import type { TrainStepEvent } from '@ui-rl/contracts';
import { firstAttempts, type RecordedEpisode } from '../e2e/support/accounting';
import { problemsOf, type Remains } from './checker';

const SIZE = { evaluated: 1, groupsPerBatch: 1, groupSize: 2, steps: 2 };

function episode(id: string, changes: Partial<RecordedEpisode> = {}): RecordedEpisode {
  const purpose = id.includes('-g0') ? 'train' : 'eval';
  return { id, purpose, status: 'done', invalidReason: null, reward: 0.5, ...changes };
}

function invalid(id: string): RecordedEpisode {
  return episode(id, { status: 'invalid', invalidReason: 'the page crashed', reward: 0 });
}

function step(number: number, ...rolloutIds: string[]): TrainStepEvent {
  const at = '2026-01-01T00:00:00.000Z';
  return { type: 'train_step', runId: 'r', at, step: number, rolloutIds, metrics: {} };
}

/** The remains of an undisturbed run, with changes. */
function remains(changes: Partial<Remains> = {}): Remains {
  const published = firstAttempts('r', { ...SIZE, groups: 2 }).map((id) => episode(id));
  const evaluation = (stage: 'baseline' | 'final') => ({ stage, episodes: 1, invalid: 0 });
  const all = { runId: 'r', groupsReleased: 2, published, recorded: changes.published ?? published };
  return {
    ...all,
    phases: ['baseline', 'training', 'final_eval', 'finished'],
    steps: [step(1, 'r-g000000-r0', 'r-g000000-r1'), step(2, 'r-g000001-r0', 'r-g000001-r1')],
    checkpoints: [0, 1, 2],
    evaluations: [evaluation('baseline'), evaluation('final')],
    ...changes,
  };
}

const { published: calm, steps: calmSteps } = remains();
const without = (id: string) => calm.filter((each) => each.id !== id);

it('reports nothing of an undisturbed run', () => {
  expect(problemsOf(remains(), SIZE)).toEqual([]);
});

it('accepts an invalid episode that was refilled, one that failed for good, and a group that was replaced', () => {
  const refilled = [...without('r-g000000-r0'), invalid('r-g000000-r0'), episode('r-g000000-r0-a1')];
  const [, second] = calmSteps;
  const steps = [step(1, 'r-g000000-r0-a1', 'r-g000000-r1'), second];
  expect(problemsOf(remains({ published: refilled, steps }), SIZE)).toEqual([]);

  const tries = ['', '-a1', '-a2'].map((attempt) => invalid(`r-g000000-r0${attempt}`));
  const failed = {
    published: [...without('r-g000000-r0'), ...tries],
    steps: [step(1, 'r-g000000-r1'), second],
  };
  expect(problemsOf(remains(failed), SIZE)).toEqual([]);

  const lost = ['r-g000002-r0', 'r-g000002-r1'].map(invalid);
  expect(problemsOf(remains({ published: [...calm, ...lost], groupsReleased: 3 }), SIZE)).toEqual([]);
});

it.each<[string, Partial<Remains>, string]>([
  ['an episode that is lost', { published: without('r-final-train_goals-0000-r0') }, 'is lost'],
  ['an unrequested one', { published: [...calm, episode('r-g000009-r0')] }, 'r-g000009-r0 was not requested'],
  ['one that is there twice', { published: [...calm, episode('r-g000000-r0')] }, 'is there twice'],
  [
    'one that was invalid and not refilled',
    { published: [...without('r-g000000-r0'), invalid('r-g000000-r0')] },
    'has 0 valid episodes',
  ],
  [
    'one that was trained twice',
    { steps: [step(1, 'r-g000000-r0', 'r-g000000-r0', 'r-g000000-r1'), calmSteps[1]] },
    'was trained 2 times',
  ],
  ['one that was not trained', { steps: [step(1, 'r-g000000-r0'), calmSteps[1]] }, 'was trained 0 times'],
  ['a step that is there twice', { steps: [...calmSteps, calmSteps[1]] }, 'steps were published as 1,2,2'],
  ['a step without a group', { steps: [step(1), calmSteps[1]] }, 'step 1 trained 0 groups'],
  [
    'a checkpoint that is there twice',
    { checkpoints: [0, 1, 1, 2] },
    'checkpoints were announced of steps 0,1,1,2',
  ],
  ['a phase that is there twice', { phases: ['baseline', 'baseline'] }, 'phases were baseline,baseline'],
  ['an evaluation that is missing', { evaluations: [] }, 'invalid in evaluations'],
  ['an episode that is not recorded', { recorded: calm.slice(1) }, 'the database lacks'],
  [
    'one that is recorded with another reward',
    { recorded: calm.map((each) => ({ ...each, reward: 1 })) },
    'only the database has',
  ],
])('finds %s', (_, changes, problem) => {
  expect(problemsOf(remains(changes), SIZE).join('\n')).toContain(problem);
});
