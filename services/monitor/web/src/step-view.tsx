import type { StepDetail } from '@ui-rl/records';
import { useApi, useVersion } from './api';
import { count, day, number, percent } from './format';
import { GroupCard, hasSignal } from './group-strip';
import { stepPath } from './reads';
import { links, useTitle } from './route';
import { Card, Problem, Stat } from './ui';

/** The training data of a step: its groups, and the episodes of each. */
export function StepView({ run, step }: { run: string; step: number }) {
  const { data, error } = useApi<StepDetail>(stepPath(run, step), useVersion(run));
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
  const { runId, metrics, groups, missing } = data;
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
        {groups
          .toSorted((a, b) => Number(hasSignal(b.episodes)) - Number(hasSignal(a.episodes)))
          .map(({ groupId, description, episodes: members }) => (
            <GroupCard key={groupId} run={runId} {...{ groupId, description, members }} />
          ))}
      </div>
      <Metrics metrics={metrics} />
    </>
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
