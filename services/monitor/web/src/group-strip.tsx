import type { GroupMember } from '@ui-rl/records';
import { type ReactNode, useState } from 'preact/compat';
import { screenshotUrl } from './api';
import { number, plural } from './format';
import { links } from './route';
import { Badge, Card, Result } from './ui';

/** By reward, the best first; invalid episodes last. */
export function byReward<M extends GroupMember>(members: readonly M[]): M[] {
  const order = ({ status, reward }: M) => (status === 'invalid' ? -Infinity : reward);
  return members.toSorted((a, b) => order(b) - order(a));
}

/** Whether a step learns from a group: from its advantages, or where they are not recorded, from its rewards. */
export function hasSignal(members: readonly GroupMember[]): boolean {
  const valid = members.filter(({ status }) => status !== 'invalid');
  if (valid.some(({ advantage }) => advantage !== null)) {
    return valid.some(({ advantage }) => advantage !== null && advantage !== 0);
  }
  return valid.some(({ reward }) => reward !== valid[0].reward);
}

export interface StripProps {
  run: string;
  members: readonly GroupMember[];
  /** Id of the episode whose page shows the strip. */
  current?: string;
  /** Shown below a tile. */
  below?: (member: GroupMember) => ReactNode;
}

/** The last frames of a group's episodes, ordered by reward, with their advantages. */
export function GroupStrip({ run, members, current, below }: StripProps) {
  const strongest = Math.max(0, ...members.map(({ advantage }) => Math.abs(advantage ?? 0)));
  return (
    <ol className="group" tabIndex={0} aria-label="Episodes by reward">
      {byReward(members).map((member) => (
        <li key={member.id}>
          <Tile run={run} member={member} strongest={strongest} isCurrent={member.id === current} />
          {below?.(member)}
        </li>
      ))}
    </ol>
  );
}

interface TileProps {
  run: string;
  member: GroupMember;
  /** Largest |advantage| of the group. */
  strongest: number;
  isCurrent: boolean;
}

function Tile({ run, member, strongest, isCurrent }: TileProps) {
  const { id, lastScreenshot, status, success, reward, advantage, turnCount } = member;
  const [isMissing, setMissing] = useState(false);
  return (
    <a
      className={`tile ${toneOf(advantage)}`}
      href={links.episode(id)}
      title={id}
      aria-current={isCurrent ? 'page' : undefined}
    >
      {lastScreenshot === null || isMissing ? (
        <span className="no-screen" />
      ) : (
        <img
          src={screenshotUrl(run, lastScreenshot)}
          alt="Last frame"
          loading="lazy"
          onError={() => setMissing(true)}
        />
      )}
      <Result status={status} success={success} />
      <strong>{number(reward)}</strong>
      {advantage !== null && (
        <span className="advantage">
          <i style={{ '--share': strongest === 0 ? 0 : Math.abs(advantage) / strongest }} />
          advantage {advantage < 0 ? '−' : '+'}
          {number(Math.abs(advantage))}
        </span>
      )}
      <span className="muted">{plural(turnCount, 'turn')}</span>
    </a>
  );
}

function toneOf(advantage: number | null): string {
  if (advantage === null || advantage === 0) return '';
  return advantage > 0 ? 'good' : 'bad';
}

export interface GroupCardProps {
  run: string;
  groupId: string;
  description: string;
  members: readonly GroupMember[];
}

/** A group of a step; folded if the step learns nothing from it. */
export function GroupCard({ run, groupId, description, members }: GroupCardProps) {
  const rewards = members.filter(({ status }) => status !== 'invalid').map(({ reward }) => reward);
  const mean = rewards.reduce((sum, reward) => sum + reward, 0) / rewards.length;
  const aside = (
    <span className="muted">
      {groupId} · mean reward {rewards.length === 0 ? '–' : number(mean)}
    </span>
  );
  if (hasSignal(members)) {
    return (
      <Card title={description} aside={aside}>
        <GroupStrip run={run} members={members} />
      </Card>
    );
  }
  return (
    <details className="card without-signal">
      <summary>
        <h2>{description}</h2> <NoSignal members={members} /> {aside}
      </summary>
      <GroupStrip run={run} members={members} />
    </details>
  );
}

function NoSignal({ members }: { members: readonly GroupMember[] }) {
  if (members.every(({ success }) => success === true))
    return <Badge tone="good">all succeed: no signal</Badge>;
  if (members.every(({ success }) => success === false)) return <Badge tone="bad">all fail: no signal</Badge>;
  return <Badge>equal rewards: no signal</Badge>;
}
