import type { EpisodeDetail, TurnView } from '@ui-rl/records';
import { type ReactNode, useState } from 'react';
import { ActionOverlay, describe } from './action-overlay';
import { screenshotUrl, useApi } from './api';
import { count, day, duration, number } from './format';
import { links } from './route';
import { Badge, Card, Empty, Problem, Result, Stat } from './ui';

export function EpisodeView({ id }: { id: string }) {
  const { data: episode, error } = useApi<EpisodeDetail>(`api/episodes/${encodeURIComponent(id)}`, 0);
  return (
    <>
      <Problem error={error} />
      {episode !== null && <Episode episode={episode} />}
    </>
  );
}

function Episode({ episode }: { episode: EpisodeDetail }) {
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
      </header>
      {episode.invalidReason !== null && <Problem error={`Invalid: ${episode.invalidReason}`} />}
      <Summary episode={episode} />
      {episode.turns.length === 0 && episode.finalScreenshot === null && <Empty>No turn was played.</Empty>}
      <div className="turns">
        {episode.turns.map((turn) => (
          <Turn key={turn.index} turn={turn} run={episode.runId} />
        ))}
        {episode.finalScreenshot !== null && <Final episode={episode} />}
      </div>
      <Judged episode={episode} />
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
        note={`${count(episode.tokenCount)} sampled tokens`}
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
    const { runId, trainedInStep: step } = episode;
    return <a href={links.step(runId, step)}>trained in step {step}</a>;
  }
  return episode.purpose === 'train' ? 'not trained' : 'version that sampled';
}

function Turn({ turn, run }: { turn: TurnView; run: string }) {
  return (
    <figure className="turn">
      <Screen run={run} hash={turn.screenshot} actions={turn.actions} />
      <figcaption>
        <p className="act">
          <span className="index">{turn.index + 1}</span>
          <Actions turn={turn} />
        </p>
        {turn.parseError !== null && <p className="problem">{turn.parseError}</p>}
        <ScreenText text={turn.screenText} />
        <code className="sampled">{turn.text}</code>
        <Logprobs turn={turn} />
        <Paid turn={turn} />
        <p className="muted">
          policy {duration(turn.policyMs)} · env {duration(turn.envMs)} · {samplersOf(turn)}
        </p>
      </figcaption>
    </figure>
  );
}

/** The screen's text that the policy read, beside the screenshot or instead of it. */
function ScreenText({ text }: { text: string | null }) {
  if (text === null) return null;
  return (
    <details className="screen-text">
      <summary>Screen as text ({count(text.length)} characters)</summary>
      <pre>{text}</pre>
    </details>
  );
}

/** The policy that sampled, or, if the weights changed, all of them with their numbers of tokens. */
function samplersOf({ policyVersion, policySpans }: TurnView): string {
  if (policySpans === null) return `sampled by ${policyVersion}`;
  const parts = policySpans.map(({ version, tokens }) => `${version} (${count(tokens)} tokens)`);
  return `sampled by ${parts.join(', then ')}`;
}

function Actions({ turn: { actions, outcome } }: { turn: TurnView }) {
  if (actions.length === 0) return <Badge tone="bad">no action</Badge>;
  return (
    <span className="actions">
      {actions.map((action, index) => (
        <strong key={index}>
          {actions.length > 1 && `${index + 1}. `}
          {describe(action)}
        </strong>
      ))}
      {outcome !== null && outcome !== 'ok' && <Badge tone="warn">{outcome.replaceAll('_', ' ')}</Badge>}
    </span>
  );
}

/** The rewards of this turn, if any reward function scores turns. */
function Paid({ turn: { reward, rewards } }: { turn: TurnView }) {
  if (reward === null) return null;
  const tone = reward > 0 ? 'good' : reward < 0 ? 'bad' : 'plain';
  return (
    <p className="paid">
      <Badge tone={tone}>
        reward {reward > 0 ? '+' : ''}
        {number(reward)}
      </Badge>
      <span className="muted">{partsOf(rewards ?? {})}</span>
    </p>
  );
}

function partsOf(rewards: Record<string, number>): string {
  return Object.entries(rewards)
    .map(([name, part]) => `${name} ${number(part)}`)
    .join(', ');
}

/** One bar per sampled token, as high as its probability. */
function Logprobs({ turn }: { turn: TurnView }) {
  const total = turn.logprobs.reduce((sum, logprob) => sum + logprob, 0);
  return (
    <div className="logprobs">
      <div className="bars">
        {turn.logprobs.map((logprob, index) => (
          <i
            key={index}
            title={`token ${turn.tokenIds[index]}: log-probability ${number(logprob, 3)}, probability ${number(Math.exp(logprob), 3)}`}
            style={{ height: `${Math.max(4, Math.exp(logprob) * 100)}%` }}
          />
        ))}
      </div>
      <small className="muted">
        {count(turn.tokenIds.length)} tokens, log-probability {number(total)} ({count(turn.promptTokens)}{' '}
        read, {count(turn.imageTokens)} of images)
      </small>
    </div>
  );
}

function Screen({ run, hash, actions }: { run: string; hash: string; actions: TurnView['actions'] }) {
  const [size, setSize] = useState<{ width: number; height: number } | null>(null);
  const [missing, setMissing] = useState(false);
  if (missing) return <div className="screen missing">The screenshot is no longer stored.</div>;
  return (
    <div className={`screen ${size !== null && size.width <= 400 ? 'small' : ''}`}>
      <img
        src={screenshotUrl(run, hash)}
        alt="Screenshot"
        onLoad={({ currentTarget: image }) =>
          setSize({ width: image.naturalWidth, height: image.naturalHeight })
        }
        onError={() => setMissing(true)}
      />
      {size !== null && actions.length > 0 && <ActionOverlay actions={actions} size={size} />}
    </div>
  );
}

function Final({ episode }: { episode: EpisodeDetail }) {
  return (
    <figure className="turn">
      <Screen run={episode.runId} hash={episode.finalScreenshot!} actions={[]} />
      <figcaption>
        <p className="act">
          <span className="index">■</span>
          <strong>at the end</strong>
        </p>
        <Result status={episode.status} success={episode.success} />
      </figcaption>
    </figure>
  );
}

function Judged({ episode }: { episode: EpisodeDetail }): ReactNode {
  const checks = episode.request.task.checks ?? [];
  const { initialState, finalState } = episode;
  const results = (finalState?.$checks ?? {}) as Record<number, CheckResult | undefined>;
  if (checks.length === 0 && initialState === null && finalState === null) return null;
  return (
    <div className="columns judged">
      <Card title="What had to hold">
        {checks.length === 0 ? (
          <Empty>This task has no checks.</Empty>
        ) : (
          <ul className="checks">
            {checks.map((check, index) => (
              <li key={index}>
                <CheckLine check={check} result={results[index]} />
              </li>
            ))}
          </ul>
        )}
      </Card>
      <State title="State at the beginning" state={initialState} />
      <State title="State at the end" state={finalState} />
    </div>
  );
}

type Check = NonNullable<EpisodeDetail['request']['task']['checks']>[number];

/** An environment's result of a page check. */
interface CheckResult {
  holds: boolean;
  found: string;
}

function CheckLine({ check, result }: { check: Check; result: CheckResult | undefined }): ReactNode {
  if (check.kind === undefined || check.kind === 'state') {
    return (
      <>
        <code>{check.path}</code> {check.operator.replaceAll('_', ' ')}{' '}
        <code>{JSON.stringify(check.value)}</code>
      </>
    );
  }
  const { kind, ...fields } = check;
  return (
    <>
      {kind} <code>{JSON.stringify(fields)}</code>
      {result === undefined ? null : ` ${result.holds ? 'held' : 'did not hold'} (${result.found})`}
    </>
  );
}

function State({ title, state }: { title: string; state: Record<string, unknown> | null }) {
  if (state === null) return null;
  return (
    <Card title={title}>
      <pre className="json">{JSON.stringify(state, null, 2)}</pre>
    </Card>
  );
}
