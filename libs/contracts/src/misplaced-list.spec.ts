import { makeTrajectory } from '@ui-rl/testkit';
import { misplacedList } from './misplaced-list';
import { toInstance } from './to-instance';
import { StoredEpisode } from './stored-episode';
import { Trajectory } from './trajectory';

const episode = JSON.parse(JSON.stringify(makeTrajectory())) as Record<'request' | 'turns', object>;
const plain = (changes: object = {}): object => ({ ...episode, ...changes });

it.each<[string, object]>([
  ['request', { request: [] }],
  ['request.task', { request: { ...episode.request, task: [{}] } }],
  [
    'request.task.environment',
    { request: { ...episode.request, task: { description: 'x', environment: [] } } },
  ],
  ['turns.0', { turns: [[]] }],
  ['turns.1', { turns: [{}, [[]]] }],
  ['idle', { idle: [] }],
])('finds a list in the place of an object: %s', (path, changes) => {
  expect(misplacedList(toInstance(Trajectory, plain(changes)))).toBe(path);
  expect(misplacedList(toInstance(StoredEpisode, { trajectory: plain(changes) }))).toBe(`trajectory.${path}`);
});

it('finds none in an episode, nor in values of another wrong type', () => {
  for (const changes of [{}, { turns: {} }, { turns: [null, 1] }, { request: 'x' }, { request: null }])
    expect(misplacedList(toInstance(Trajectory, plain(changes)))).toBeUndefined();
});
