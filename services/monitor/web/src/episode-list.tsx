import type { EpisodePage, EpisodeSummary } from '@ui-rl/records';
import { useEffect, useState } from 'preact/compat';
import { fetchJson, screenshotUrl, useApi } from './api';
import { EpisodeFilters, useEpisodeFilter } from './episode-filters';
import { isFiltered } from './episode-query';
import { clock, count, number } from './format';
import { episodesPath } from './reads';
import { links, type PlayedFor } from './route';
import { rowLink } from './row-link';
import { Badge, Card, Empty, Problem, Result } from './ui';

export interface EpisodeListProps {
  run: string;
  version: number;
  /** Shows only these. */
  playedFor?: PlayedFor | undefined;
}

export function EpisodeList({ run, version, playedFor }: EpisodeListProps) {
  const filter = useEpisodeFilter();
  const path = episodesPath(run, filter, playedFor);
  const { data: first, error } = useApi<EpisodePage>(path, version);
  const older = useOlder(path, first);
  const episodes = joined(first?.episodes ?? [], older.episodes);
  const cursor = older.episodes.length === 0 ? (first?.cursor ?? null) : older.cursor;
  return (
    <Card title="Episodes" aside={<EpisodeFilters run={run} />}>
      {playedFor !== undefined && <PlayedForNote run={run} playedFor={playedFor} />}
      <Problem error={error ?? older.error} />
      {first !== null && episodes.length === 0 && (
        <Empty>{isFiltered(filter) ? 'No episode passes this filter.' : 'No episode has ended yet.'}</Empty>
      )}
      {episodes.length > 0 && <EpisodeTable episodes={episodes} />}
      {cursor !== null && (
        <button type="button" className="more" onClick={() => void older.load(cursor)}>
          Show more
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

/** Both lists, each episode once. */
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
function useOlder(path: string, first: EpisodePage | null) {
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
      const page = await fetchJson<EpisodePage>(`${path}&before=${encodeURIComponent(cursor)}`);
      const before = joined(first?.episodes ?? [], present.episodes);
      setPages({ path, episodes: joined(before, page.episodes), cursor: page.cursor });
    } catch (problem) {
      setError(problem instanceof Error ? problem.message : String(problem));
    }
  };
  return { ...present, error, load };
}

function EpisodeTable({ episodes }: { episodes: EpisodeSummary[] }) {
  return (
    <div className="scroll">
      <table className="rows stacks episodes">
        <thead>
          <tr>
            <td />
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
