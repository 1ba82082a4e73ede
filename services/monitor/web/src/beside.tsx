import type { EpisodePage, JudgedEpisode } from '@ui-rl/records';
import { pathRead, type Read, useApi, useLoaded } from './api';
import { number } from './format';
import { episodePath, runPath } from './reads';
import { links, useParam } from './route';
import { Result } from './ui';

/** Number of episodes of the task to choose from. */
const OFFERED = 50;

const NONE: Read<null> = { key: 'none beside', load: () => Promise.resolve(null) };

/** The episode that the address names beside the shown one: `?beside=`. */
export function useBeside(): { other: JudgedEpisode | null; error: string | null } {
  const [id] = useParam('beside');
  const { key, load } = id === '' ? NONE : pathRead<JudgedEpisode>(episodePath(id));
  const { data, error } = useLoaded<JudgedEpisode | null>(key, 0, load);
  return { other: data, error };
}

/** Chooses among the latest episodes of the same task; those of the group first. */
export function BesideChooser({ episode }: { episode: JudgedEpisode }) {
  const [chosen, choose] = useParam('beside');
  const { id, runId, taskId, groupId } = episode;
  const query = new URLSearchParams({ taskId, limit: String(OFFERED) }).toString();
  const { data } = useApi<EpisodePage>(`${runPath(runId)}/episodes?${query}`, 0);
  const listed = (data?.episodes ?? []).filter((each) => each.id !== id);
  const own = new Set(episode.group.map((each) => each.id));
  const elsewhere = listed.filter((each) => each.groupId !== groupId && !own.has(each.id));
  const group = episode.group.filter((each) => each.id !== id);
  const isListed = [...group, ...elsewhere].some((each) => each.id === chosen);
  if (group.length + elsewhere.length === 0 && chosen === '') return null;
  return (
    <select aria-label="Side by side" value={chosen} onChange={(event) => choose(event.currentTarget.value)}>
      <option value="">Not side by side</option>
      {chosen !== '' && !isListed && <option value={chosen}>{chosen}</option>}
      <Offered label="Of the group" episodes={group} />
      <Offered label="Of the task" episodes={elsewhere} />
    </select>
  );
}

type Named = Pick<JudgedEpisode, 'id' | 'status' | 'success' | 'reward'>;

function Offered({ label, episodes }: { label: string; episodes: readonly Named[] }) {
  if (episodes.length === 0) return null;
  return (
    <optgroup label={label}>
      {episodes.map((each) => (
        <option key={each.id} value={each.id}>
          {number(each.reward)} {resultOf(each)} · {each.id}
        </option>
      ))}
    </optgroup>
  );
}

function resultOf({ status, success }: Named): string {
  if (status === 'invalid') return 'invalid';
  if (success === null) return 'not judged';
  return success ? 'success' : 'failure';
}

export function PaneTitle({ episode }: { episode: JudgedEpisode }) {
  const { id, status, success, reward, turns } = episode;
  return (
    <p className="pane-title">
      <Result status={status} success={success} /> <strong>{number(reward)}</strong>{' '}
      <a href={links.episode(id)}>{id}</a> <span className="muted">{turns.length} turns</span>
    </p>
  );
}

interface FirstDifferenceProps {
  episode: JudgedEpisode;
  other: JudgedEpisode;
  go: (index: number) => void;
}

/** Names the first turn in which the actions of two episodes differ. */
export function FirstDifference({ episode, other, go }: FirstDifferenceProps) {
  const turns = Math.max(episode.turns.length, other.turns.length);
  const actionsOf = ({ turns: played }: JudgedEpisode, index: number) =>
    JSON.stringify(played[index]?.actions);
  const first = Array.from({ length: turns }, (_, index) => index).find(
    (index) => actionsOf(episode, index) !== actionsOf(other, index),
  );
  if (first === undefined) return <p className="note">Both episodes have the same actions.</p>;
  return (
    <p className="note">
      The actions first differ in{' '}
      <button type="button" onClick={() => go(first)}>
        turn {first + 1}
      </button>
    </p>
  );
}
