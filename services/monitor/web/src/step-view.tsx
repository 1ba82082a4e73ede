import type { EpisodeSummary, StepDetail, StepGroup } from '@ui-rl/records';
import { screenshotUrl, useApi, useVersion } from './api';
import { count, day, number, percent } from './format';
import { links, useTitle } from './route';
import { Badge, Card, Problem, Result, Stat } from './ui';

/** The training data of a step: its groups, and the episodes of each. */
export function StepView({ run, step }: { run: string; step: number }) {
  const path = `api/runs/${encodeURIComponent(run)}/steps/${step}`;
  const { data, error } = useApi<StepDetail>(path, useVersion(run));
  useTitle(`Step ${step} · ${run}`);
  return (
    <>
      <header className="page-head">
        <div>
          <h1>Step {step}</h1>
          <span className="muted">
            {data !== null && `${day(data.at)} · `}
            <a href={links.run(run, 'steps')}>{run}</a>
          </span>
        </div>
        <nav className="tabs">
          {step > 1 && <a href={links.step(run, step - 1)}>← {step - 1}</a>}
          {data !== null && step < data.newest && <a href={links.step(run, step + 1)}>{step + 1} →</a>}
        </nav>
      </header>
      <Problem error={error} />
      {data !== null && <Step data={data} />}
    </>
  );
}

function Step({ data }: { data: StepDetail }) {
  const { metrics, groups, missing } = data;
  const episodes = groups.reduce((sum, group) => sum + group.episodes.length, 0);
  return (
    <>
      <div className="stats">
        <Stat
          label="Episodes"
          value={count(episodes)}
          note={
            missing === 0 ? `in ${count(groups.length)} groups` : `${count(missing)} more are not recorded`
          }
        />
        <Stat
          label="Success"
          value={percent(metrics['env/all/success'])}
          note="of those that can be judged"
        />
        <Stat label="Reward" value={number(metrics['env/all/reward/total'])} note="mean" />
        <Stat
          label="Mixed groups"
          value={percent(metrics['env/all/by_group/frac_mixed'])}
          note="with a learning signal"
        />
        <Stat
          label="Policy lag"
          value={number(metrics['async/steps_off_policy_max'], 0)}
          note="steps, at most"
        />
      </div>
      <div className="groups">
        {groups.map((group) => (
          <Group key={group.groupId} group={group} />
        ))}
      </div>
      <Metrics metrics={metrics} />
    </>
  );
}

function Group({ group: { groupId, description, episodes } }: { group: StepGroup }) {
  const rewards = episodes.map(({ reward }) => reward);
  const mean = rewards.reduce((sum, reward) => sum + reward, 0) / rewards.length;
  const isMixed = rewards.some((reward) => reward !== rewards[0]);
  return (
    <Card
      title={description}
      aside={
        <span className="muted">
          {groupId} · mean reward {number(mean)} {!isMixed && <Badge>no difference</Badge>}
        </span>
      }
    >
      <div className="group">
        {episodes.map((episode) => (
          <Tile key={episode.id} episode={episode} />
        ))}
      </div>
    </Card>
  );
}

function Tile({ episode }: { episode: EpisodeSummary }) {
  const { id, runId, thumbnail, status, success, reward, turnCount } = episode;
  return (
    <a className="tile" href={links.episode(id)} title={id}>
      {thumbnail === null ? (
        <span className="no-screen" />
      ) : (
        <img src={screenshotUrl(runId, thumbnail)} alt="" />
      )}
      <Result status={status} success={success} />
      <strong>{number(reward)}</strong>
      <span className="muted">{turnCount === 1 ? '1 turn' : `${count(turnCount)} turns`}</span>
    </a>
  );
}

function Metrics({ metrics }: { metrics: Record<string, number> }) {
  return (
    <Card title="Metrics">
      <dl className="metrics">
        {Object.entries(metrics)
          .toSorted(([a], [b]) => a.localeCompare(b))
          .map(([name, value]) => (
            <div key={name}>
              <dt>{name}</dt>
              <dd>{Number.isInteger(value) ? count(value) : number(value, 4)}</dd>
            </div>
          ))}
      </dl>
    </Card>
  );
}
