import type { RunDetail } from '@ui-rl/records';
import { useApi, useVersion } from './api';
import { ConfigurationView } from './configuration-view';
import { RunCharts } from './run-charts';
import { RunDetails } from './run-details';
import { EpisodeList } from './episode-list';
import { EvaluationComparisons } from './evaluation-comparison';
import { EvaluationTable } from './evaluation-table';
import { count, day, duration, percent } from './format';
import { links, type PlayedFor, type RunTab } from './route';
import { StepList } from './step-list';
import { Phase, Problem, Stat } from './ui';

const TABS: { tab: RunTab; label: string }[] = [
  { tab: 'overview', label: 'Overview' },
  { tab: 'steps', label: 'Steps' },
  { tab: 'evaluations', label: 'Evaluations' },
  { tab: 'episodes', label: 'Episodes' },
  { tab: 'configuration', label: 'Configuration' },
  { tab: 'details', label: 'Details' },
];

/** A larger share of invalid episodes indicates a problem in the infrastructure. */
const INVALID_ALARM = 0.05;

export interface RunViewProps {
  id: string;
  tab: RunTab;
  /** Lists only these episodes. */
  playedFor?: PlayedFor | undefined;
}

export function RunView({ id, tab, playedFor }: RunViewProps) {
  const version = useVersion(id);
  const { data: run, error } = useApi<RunDetail>(`api/runs/${encodeURIComponent(id)}`, version);
  return (
    <>
      <header className="page-head">
        <div>
          <h1>{id}</h1>
          {run !== null && <Phase phase={run.phase} reason={run.phaseReason} />}
          {run !== null && <span className="muted">{since(run)}</span>}
        </div>
        <nav className="tabs">
          {TABS.map((item) => (
            <a
              key={item.tab}
              href={links.run(id, item.tab)}
              aria-current={item.tab === tab ? 'page' : undefined}
            >
              {item.label}
            </a>
          ))}
        </nav>
      </header>
      <Problem error={error} />
      {run !== null && tab === 'overview' && <Overview run={run} version={version} />}
      {tab === 'steps' && <StepList run={id} version={version} />}
      {tab === 'evaluations' && <EvaluationComparisons run={id} version={version} />}
      {tab === 'episodes' && (
        <EpisodeList key={JSON.stringify(playedFor)} run={id} version={version} playedFor={playedFor} />
      )}
      {run !== null && tab === 'configuration' && <ConfigurationView run={run} />}
      {run !== null && tab === 'details' && <RunDetails run={run} />}
    </>
  );
}

const OVER = new Set(['finished', 'failed', 'stopped']);

function since(run: RunDetail): string {
  const end = OVER.has(run.phase ?? '') && run.phaseSince !== null ? Date.parse(run.phaseSince) : Date.now();
  return `${day(run.createdAt)} · ${duration(Math.max(0, end - Date.parse(run.createdAt)))}`;
}

function Overview({ run, version }: { run: RunDetail; version: number }) {
  const invalid = run.episodes === 0 ? 0 : run.invalid / run.episodes;
  return (
    <>
      <div className="stats">
        <Stat label="Steps" value={count(run.steps)} note="a batch each" />
        <Stat label="Episodes" value={count(run.episodes)} note={`${count(run.inProgress)} in progress`} />
        <Stat
          label="Invalid"
          value={percent(invalid, 1)}
          note={`${count(run.invalid)} episodes`}
          tone={invalid >= INVALID_ALARM ? 'bad' : undefined}
        />
        <Stat
          label="Checkpoint"
          value={run.checkpoints.length === 0 ? '–' : count(run.checkpoints[0].step)}
          note={run.checkpoints.length === 0 ? 'none yet' : `latest of ${run.checkpoints.length}`}
        />
      </div>
      <RunCharts run={run} version={version} />
      <EvaluationTable run={run} version={version} />
    </>
  );
}
