import type { RunDetail } from '@ui-rl/records';
import { useRef, useState } from 'preact/compat';
import { useApi, useVersion } from './api';
import { ConfigurationView } from './configuration-view';
import { RunCharts } from './run-charts';
import { RunDetails } from './run-details';
import { EpisodeList } from './episode-list';
import { EvaluationComparisons } from './evaluation-comparison';
import { EvaluationTable } from './evaluation-table';
import { count, day, duration, percent, plural } from './format';
import { runPath } from './reads';
import { links, type PlayedFor, type RunTab, useTitle } from './route';
import { HealthView } from './health-view';
import { SignsOfLife } from './signs-of-life';
import { StepList } from './step-list';
import { TaskHeatMapView } from './task-heat-map';
import { isEvaluation, isOver } from './run-kind';
import { RunEditor, RunTags, titleOf } from './run-labels';
import { Badge, Phase, Problem, Stat } from './ui';

const TABS: { tab: RunTab; label: string }[] = [
  { tab: 'overview', label: 'Overview' },
  { tab: 'steps', label: 'Steps' },
  { tab: 'tasks', label: 'Tasks' },
  { tab: 'evaluations', label: 'Evaluations' },
  { tab: 'episodes', label: 'Episodes' },
  { tab: 'health', label: 'Health' },
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
  const [saved, setSaved] = useState(0);
  const [isEditing, setEditing] = useState(false);
  const editButton = useRef<HTMLButtonElement>(null);
  const { data: run, error } = useApi<RunDetail>(runPath(id), version + saved);
  const title = run === null ? id : titleOf(run);
  const stopEditing = () => {
    setEditing(false);
    editButton.current?.focus();
  };
  const { label } = TABS.find((each) => each.tab === tab)!;
  useTitle(tab === 'overview' ? title : `${label} · ${title}`);
  return (
    <>
      <header className="page-head">
        <div>
          <h1>{title}</h1>
          {title !== id && <small>{id}</small>}
          {run !== null && <Phase phase={run.phase} reason={run.phaseReason} />}
          {run?.pausedSince != null && <Badge tone="warn">paused</Badge>}
          {run !== null && <span className="muted">{since(run)}</span>}
          {run !== null && <RunTags run={run} />}
          {run !== null && (
            <button
              type="button"
              ref={editButton}
              aria-expanded={isEditing}
              onClick={() => setEditing(!isEditing)}
            >
              Edit
            </button>
          )}
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
      {run !== null && isEditing && (
        <RunEditor
          run={run}
          onCancel={stopEditing}
          onSaved={() => {
            setSaved((times) => times + 1);
            stopEditing();
          }}
        />
      )}
      {run !== null && !isEditing && run.notes !== '' && <p className="run-notes">{run.notes}</p>}
      {run !== null && <SignsOfLife run={run} />}
      {run !== null && tab === 'overview' && <Overview run={run} version={version} />}
      {tab === 'steps' && <StepList run={id} version={version} />}
      {tab === 'tasks' && <TaskHeatMapView run={id} version={version} />}
      {tab === 'evaluations' && <EvaluationComparisons run={id} version={version} />}
      {tab === 'episodes' && (
        <EpisodeList key={JSON.stringify(playedFor)} run={id} version={version} playedFor={playedFor} />
      )}
      {run !== null && tab === 'health' && <HealthView run={run} version={version} />}
      {run !== null && tab === 'configuration' && <ConfigurationView run={run} />}
      {run !== null && tab === 'details' && <RunDetails run={run} />}
    </>
  );
}

function since(run: RunDetail): string {
  const end = isOver(run) && run.phaseSince !== null ? Date.parse(run.phaseSince) : Date.now();
  return `${day(run.createdAt)} · ${duration(Math.max(0, end - Date.parse(run.createdAt)))}`;
}

function Overview({ run, version }: { run: RunDetail; version: number }) {
  const invalid = run.episodes === 0 ? 0 : run.invalid / run.episodes;
  const trains = !isEvaluation(run);
  return (
    <>
      <div className="stats">
        {trains ? (
          <Stat label="Training steps" value={count(run.steps)} note="a batch each" />
        ) : (
          <Stat label="Checkpoints" value={count(checkpointsOf(run))} note="evaluated" />
        )}
        <Stat label="Episodes" value={count(run.episodes)} note={`${count(run.inProgress)} in progress`} />
        <Stat
          label="Invalid"
          value={percent(invalid, 1)}
          note={plural(run.invalid, 'episode')}
          tone={invalid >= INVALID_ALARM ? 'bad' : undefined}
        />
        {trains && (
          <Stat
            label="Checkpoint"
            value={run.checkpoints.length === 0 ? '–' : `step ${count(run.checkpoints[0].step)}`}
            note={run.checkpoints.length === 0 ? 'none yet' : `latest of ${run.checkpoints.length}`}
          />
        )}
      </div>
      {trains && <RunCharts run={run} version={version} />}
      <EvaluationTable run={run} version={version} />
    </>
  );
}

function checkpointsOf({ evaluations }: RunDetail): number {
  return new Set(evaluations.map(({ checkpoint }) => checkpoint)).size;
}
