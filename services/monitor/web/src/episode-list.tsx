import type { EpisodePage, EpisodeSummary } from '@ui-rl/records';
import { useEffect, useState } from 'react';
import { fetchJson, screenshotUrl, useApi } from './api';
import { clock, count, number } from './format';
import { links, type PlayedFor, useParam } from './route';
import { rowLink } from './row-link';
import { Badge, Card, Empty, Problem, Result } from './ui';

interface Filter {
  purpose: string;
  result: string;
  task: string;
  playedFor?: PlayedFor | undefined;
}

const PAGE = 50;

function pathOf(run: string, filter: Filter, before?: string): string {
  const query = new URLSearchParams({ limit: String(PAGE) });
  if (filter.purpose !== '') query.set('purpose', filter.purpose);
  if (filter.result === 'invalid') query.set('status', 'invalid');
  else if (filter.result !== '') query.set('success', filter.result);
  if (filter.task !== '') query.set('task', filter.task);
  if (filter.playedFor !== undefined) query.set('evaluation', filter.playedFor.evaluation);
  if (filter.playedFor?.taskId !== undefined) query.set('taskId', filter.playedFor.taskId);
  if (before !== undefined) query.set('before', before);
  return `api/runs/${encodeURIComponent(run)}/episodes?${query.toString()}`;
}

export interface EpisodeListProps {
  run: string;
  version: number;
  /** Shows only these. */
  playedFor?: PlayedFor | undefined;
}

export function EpisodeList({ run, version, playedFor }: EpisodeListProps) {
  const [purpose, setPurpose] = useParam('purpose');
  const [result, setResult] = useParam('result');
  const [task, setTask] = useParam('task');
  const filter: Filter = { purpose, result, task, playedFor };
  const setFilter = (next: Filter) => {
    setPurpose(next.purpose);
    setResult(next.result);
    setTask(next.task);
  };
  const path = pathOf(run, filter);
  const { data: first, error } = useApi<EpisodePage>(path, version);
  const older = useOlder(run, filter, path, first);
  const episodes = joined(first?.episodes ?? [], older.episodes);
  const cursor = older.episodes.length === 0 ? (first?.cursor ?? null) : older.cursor;
  const filtered = filter.purpose !== '' || filter.result !== '' || filter.task !== '';
  return (
    <Card title="Episodes" aside={<Filters filter={filter} change={setFilter} />}>
      {playedFor !== undefined && <PlayedForNote run={run} playedFor={playedFor} />}
      <Problem error={error ?? older.error} />
      {first !== null && episodes.length === 0 && (
        <Empty>{filtered ? 'No episode passes this filter.' : 'No episode has ended yet.'}</Empty>
      )}
      {episodes.length > 0 && <EpisodeTable episodes={episodes} />}
      {cursor !== null && (
        <button type="button" className="more" onClick={() => void older.load(cursor)}>
          Show older ones
        </button>
      )}
    </Card>
  );
}

function PlayedForNote({ run, playedFor: { evaluation, taskId } }: { run: string; playedFor: PlayedFor }) {
  return (
    <p className="note">
      Of the evaluation <code>{evaluation}</code>
      {taskId !== undefined && (
        <>
          , task <code>{taskId}</code>
        </>
      )}
      . <a href={links.run(run, 'episodes')}>Show all episodes</a>
    </p>
  );
}

/** Both lists, each episode once, newest first. */
function joined(newer: readonly EpisodeSummary[], older: readonly EpisodeSummary[]): EpisodeSummary[] {
  const known = new Set(newer.map(({ id }) => id));
  return [...newer, ...older.filter(({ id }) => !known.has(id))];
}

interface Pages {
  path: string;
  episodes: EpisodeSummary[];
  cursor: string | null;
}

/** Kept so that Back from an episode finds the same rows. */
let lastPages: Pages | undefined;

/** Pages after the first one, and earlier contents of the first page; reset when the filter changes. */
function useOlder(run: string, filter: Filter, path: string, first: EpisodePage | null) {
  const [pages, setPages] = useState<Pages | undefined>(lastPages);
  useEffect(() => {
    lastPages = pages;
  }, [pages]);
  const [error, setError] = useState<string | null>(null);
  useEffect(() => setError(null), [path]);
  useEffect(() => {
    if (first === null) return;
    setPages((old) => {
      if (old === undefined || old.path !== path) return old;
      const known = new Set(old.episodes.map(({ id }) => id));
      // More episodes have arrived than fit on a page: those in between are unknown, so the list is loaded again.
      if (!first.episodes.some(({ id }) => known.has(id))) return undefined;
      return { ...old, episodes: joined(first.episodes, old.episodes) };
    });
  }, [path, first]);
  const present = pages?.path === path ? pages : { path, episodes: [], cursor: null };
  const load = async (cursor: string) => {
    try {
      const page = await fetchJson<EpisodePage>(pathOf(run, filter, cursor));
      const before = joined(first?.episodes ?? [], present.episodes);
      setPages({ path, episodes: joined(before, page.episodes), cursor: page.cursor });
    } catch (problem) {
      setError(problem instanceof Error ? problem.message : String(problem));
    }
  };
  return { ...present, error, load };
}

function Filters({ filter, change }: { filter: Filter; change: (filter: Filter) => void }) {
  const [task, setTask] = useState(filter.task);
  useEffect(() => setTask(filter.task), [filter.task]);
  useEffect(() => {
    const timer = setTimeout(() => {
      if (task !== filter.task) change({ ...filter, task });
    }, 250);
    return () => clearTimeout(timer);
  }, [task, filter, change]);
  return (
    <div className="filters">
      <select
        aria-label="Purpose"
        value={filter.purpose}
        onChange={(event) => change({ ...filter, purpose: event.target.value })}
      >
        <option value="">Every purpose</option>
        <option value="train">Training</option>
        <option value="eval">Evaluation</option>
        <option value="baseline">Baseline</option>
      </select>
      <select
        aria-label="Result"
        value={filter.result}
        onChange={(event) => change({ ...filter, result: event.target.value })}
      >
        <option value="">Every result</option>
        <option value="yes">Success</option>
        <option value="no">Failure</option>
        <option value="unknown">Not judged</option>
        <option value="invalid">Invalid</option>
      </select>
      <input
        type="search"
        aria-label="Task"
        placeholder="Task or goal"
        value={task}
        onChange={(event) => setTask(event.target.value)}
      />
    </div>
  );
}

function EpisodeTable({ episodes }: { episodes: EpisodeSummary[] }) {
  return (
    <div className="scroll">
      <table className="rows stacks episodes">
        <thead>
          <tr>
            <th aria-label="Screenshot" />
            <th>Goal</th>
            <th>Result</th>
            <th>Purpose</th>
            <th className="num">Reward</th>
            <th className="num">Turns</th>
            <th className="num" title="number of training steps of the weights that sampled the last turn">
              Policy
            </th>
            <th>Ended</th>
          </tr>
        </thead>
        <tbody>
          {episodes.map((episode) => (
            <EpisodeRow key={episode.id} episode={episode} />
          ))}
        </tbody>
      </table>
    </div>
  );
}

function EpisodeRow({ episode }: { episode: EpisodeSummary }) {
  return (
    <tr {...rowLink(links.episode(episode.id))}>
      <td className="thumb">
        {episode.thumbnail !== null && (
          <img src={screenshotUrl(episode.runId, episode.thumbnail)} alt="" loading="lazy" />
        )}
      </td>
      <td>
        <a href={links.episode(episode.id)}>{episode.description}</a>
        <small className="muted">
          {episode.taskId === episode.description ? episode.id : episode.taskId}
        </small>
      </td>
      <td className="outcome">
        <Result status={episode.status} success={episode.success} />
        {episode.status === 'truncated' && <Badge title="used up its turns">truncated</Badge>}
      </td>
      <td className="muted" data-label="Purpose">
        {episode.purpose}
      </td>
      <td className="num" data-label="Reward">
        {number(episode.reward)}
      </td>
      <td className="num" data-label="Turns">
        {count(episode.turnCount)}
      </td>
      <td className="num" data-label="Policy">
        {episode.policyVersion ?? '–'}
      </td>
      <td className="muted" data-label="Ended">
        {clock(episode.finishedAt)}
      </td>
    </tr>
  );
}
