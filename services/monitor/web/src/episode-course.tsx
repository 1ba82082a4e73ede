import type { JudgedEpisode } from '@ui-rl/records';
import type { ReactNode } from 'preact/compat';
import { EPISODE_PHASES } from './episode-phases';
import { count, day, duration } from './format';
import { links } from './route';
import { Shares } from './time-spent';
import { Badge, Card } from './ui';

/** The course of an episode: its environment, its phases, its faults, and the verdicts on its success. */
export function EpisodeCourse({ episode }: { episode: JudgedEpisode }) {
  const { times } = episode;
  const total = times === null ? 0 : EPISODE_PHASES.reduce((sum, { phase }) => sum + times[phase], 0);
  return (
    <div className="columns">
      <Card title="Success and faults">
        <Facts facts={[...verdicts(episode), ...faults(episode)]} />
      </Card>
      <Card title="Environment and time">
        <Facts facts={environment(episode)} />
        {times !== null && (
          <Shares
            title={`Phases of ${duration(total)}`}
            parts={EPISODE_PHASES.map(({ phase, words }) => [
              words,
              total === 0 ? 0 : times[phase] / total,
              duration(times[phase]),
            ])}
          />
        )}
      </Card>
    </div>
  );
}

type Fact = [name: string, value: ReactNode];

function Facts({ facts }: { facts: Fact[] }) {
  return (
    <dl className="facts">
      {facts.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}

function verdicts({
  id,
  success,
  reportedSuccess,
  verifier,
  firstSuccess,
  turnCount,
}: JudgedEpisode): Fact[] {
  const differs = success !== null && reportedSuccess !== null && success !== reportedSuccess;
  const first =
    firstSuccess === null ? (
      'none known'
    ) : (
      <a href={links.episode(id, String(firstSuccess + 1))}>
        turn {count(firstSuccess + 1)} of {count(turnCount)}
      </a>
    );
  return [
    ['Verified success', `${yesOrNo(success, 'not judged')}${verifier === null ? '' : `, by ${verifier}`}`],
    [
      'Reported by the agent',
      <>
        {yesOrNo(reportedSuccess, 'it did not finish')} {differs && <Badge tone="warn">differs</Badge>}
      </>,
    ],
    ['All checks hold first after', first],
  ];
}

function yesOrNo(value: boolean | null, unknown: string): string {
  if (value === null) return unknown;
  return value ? 'success' : 'no success';
}

function faults({ faults: found }: JudgedEpisode): Fact[] {
  const counts: [name: string, value: number | null][] = [
    ['Unreadable answers', found.parseErrors],
    ['Unknown actions', found.toolErrors],
    ['Wrong arguments', found.argumentErrors],
    ['Failed actions', found.runtimeErrors],
    ['Repeated actions', found.repeatedActions],
  ];
  return counts.map(([name, value]) => [
    name,
    value === null ? '–' : value === 0 ? '0' : <strong>{count(value)}</strong>,
  ]);
}

function environment({ environment: found, request, actor, startedAt }: JudgedEpisode): Fact[] {
  const kind = found?.kind ?? request.task.environment?.kind ?? 'unknown';
  return [
    ['Environment', kind],
    ...(found === null
      ? []
      : ([
          ['Screen', `${count(found.width)} × ${count(found.height)} pixels`],
          ['First frame', day(found.openedAt)],
          ['Held by', found.instance ?? 'unknown'],
        ] as Fact[])),
    ['Began', day(startedAt)],
    ['Actor', actor],
  ];
}
