import type { EpisodeDetail, JudgedEpisode } from '@ui-rl/records';
import type { ReactNode } from 'preact/compat';
import { useApi, useVersion } from './api';
import { Downloads } from './download';
import { EpisodeChecks } from './episode-checks';
import { EpisodeCourse } from './episode-course';
import { EpisodePlayer } from './episode-player';
import { FailureReasons } from './failure-reasons';
import { count, day, duration, number, plural } from './format';
import { episodePath } from './reads';
import { links, useTitle } from './route';
import { partsOf } from './turn-details';
import { GroupStrip } from './group-strip';
import { Badge, Card, Problem, Result, Stat } from './ui';

export function EpisodeView({ id }: { id: string }) {
  // Recorded later than opened, or trained later than recorded: both change the page.
  const version = useVersion(null);
  const { data: episode, error } = useApi<JudgedEpisode>(episodePath(id), version);
  useTitle(episode === null ? id : `${markOf(episode)} ${episode.description}`);
  return (
    <>
      <Problem error={error} />
      {episode === null && error !== null && (
        <p className="note">An episode that is still being played appears here when it has ended.</p>
      )}
      {episode !== null && <Episode episode={episode} />}
    </>
  );
}

function markOf({ status, success }: EpisodeDetail): string {
  if (status === 'invalid' || success === null) return '–';
  return success ? '✓' : '✗';
}

function Episode({ episode }: { episode: JudgedEpisode }) {
  return (
    <>
      <header className="page-head">
        <div>
          <h1>{episode.description}</h1>
          <Result status={episode.status} success={episode.success} />
          {episode.status !== 'invalid' && <Badge>{episode.status}</Badge>}
          <span className="muted">
            {episode.taskId} · {day(episode.finishedAt)} ·{' '}
            <a href={links.run(episode.runId, 'episodes')}>{episode.runId}</a>
          </span>
        </div>
        <Downloads episode={episode} />
      </header>
      {episode.invalidReason !== null && <Problem error={`Invalid: ${episode.invalidReason}`} />}
      <FailureReasons episode={episode} />
      <Summary episode={episode} />
      <EpisodePlayer episode={episode} />
      {episode.group.length > 1 && (
        <Card title="Group" aside={<span className="muted">{episode.groupId} · by reward</span>}>
          <GroupStrip
            run={episode.runId}
            members={episode.group}
            current={episode.id}
            below={({ id }) => id !== episode.id && <a href={links.beside(episode.id, id)}>Side by side</a>}
          />
        </Card>
      )}
      <EpisodeChecks episode={episode} />
      <EpisodeCourse episode={episode} />
    </>
  );
}

function Summary({ episode }: { episode: EpisodeDetail }) {
  const { request } = episode;
  return (
    <div className="stats">
      <Stat label="Reward" value={number(episode.reward)} note={partsOf(episode.rewards) || 'not scored'} />
      {Object.entries(episode.verdicts ?? {}).map(([name, verdict]) => (
        <Stat
          key={name}
          label={`Verdict of ${name}`}
          value={verdict ? 'success' : 'no success'}
          note={agreementNote(verdict, episode.success)}
        />
      ))}
      <Stat
        label="Turns"
        value={count(episode.turnCount)}
        note={plural(episode.tokenCount, 'sampled token')}
      />
      <Stat
        label="Time"
        value={duration(Date.parse(episode.finishedAt) - Date.parse(episode.startedAt))}
        note={`by ${episode.actor}`}
      />
      <Stat label="Policy" value={episode.policyVersion ?? '–'} note={trainedNote(episode)} />
      <Stat
        label="Purpose"
        value={episode.purpose}
        note={`${request.indexInGroup + 1} of ${request.groupSize}, seed ${request.seed}`}
      />
    </div>
  );
}

function agreementNote(verdict: boolean, success: boolean | null): string {
  if (success === null) return 'the verifier cannot judge it';
  return verdict === success ? 'as the verifier' : 'unlike the verifier';
}

function trainedNote(episode: EpisodeDetail): ReactNode {
  if (episode.trainedInStep !== null) {
    const { runId, trainedInStep: step, advantage } = episode;
    return (
      <>
        <a href={links.step(runId, step)}>trained in step {step}</a>
        {advantage !== null && `, advantage ${number(advantage)}`}
      </>
    );
  }
  return episode.purpose === 'train' ? 'not trained' : 'version that sampled';
}
