import type { TurnPrompt, TurnView } from '@ui-rl/records';
import { Fragment, useState } from 'preact/compat';
import { describe } from './action-overlay';
import { screenshotUrl, useApi } from './api';
import { duration, number, plural } from './format';
import { TokenView } from './token-view';
import { Badge, Problem } from './ui';

export interface TurnDetailsProps {
  run: string;
  episode: string;
  turn: TurnView;
}

/** The prompt, answer, actions and rewards of a turn. */
export function TurnDetails({ run, episode, turn }: TurnDetailsProps) {
  return (
    <div className="details">
      <p className="act">
        <Actions turn={turn} />
      </p>
      {turn.parseError !== null && <p className="problem">{turn.parseError}</p>}
      <Paid turn={turn} />
      <TokenView key={`tokens ${turn.index}`} turn={turn} />
      <ScreenText text={turn.screenText} />
      <Prompt key={turn.index} run={run} episode={episode} turn={turn} />
      <p className="muted">
        policy {duration(turn.policyMs)} · env {duration(turn.envMs)} · {samplersOf(turn)}
      </p>
    </div>
  );
}

/** The tokens and images of the prompt, read only if they are wanted: they are many. */
function Prompt({ run, episode, turn }: TurnDetailsProps) {
  const [isOpen, open] = useState(false);
  return (
    <details className="screen-text" onToggle={(event) => open(event.currentTarget.open)}>
      <summary>Prompt ({plural(turn.promptTokens, 'token')})</summary>
      {isOpen && (
        <PromptTokens
          run={run}
          path={`api/episodes/${encodeURIComponent(episode)}/turns/${turn.index}/prompt`}
        />
      )}
    </details>
  );
}

function PromptTokens({ run, path }: { run: string; path: string }) {
  const { data, error } = useApi<TurnPrompt>(path, 0);
  return (
    <>
      <Problem error={error} />
      {data !== null && (
        <>
          <PromptText run={run} {...data} />
          <details>
            <summary>Token ids</summary>
            <pre tabIndex={0} role="group" aria-label="Token ids of the prompt">
              {runsOf(data.tokenIds).join(' ')}
            </pre>
          </details>
        </>
      )}
    </>
  );
}

/** The prompt as the policy read it, each image in its place; without recorded text, its images. */
function PromptText({ run, text, images }: TurnPrompt & { run: string }) {
  const parts = text === null ? [] : text.split('\uFFFC');
  // The model may read an image in tiles: the text then has more places than there are images.
  const isInPlace = parts.length === images.length + 1;
  const image = (index: number) => (
    <img key={index} src={screenshotUrl(run, images[index])} alt={`Image ${index + 1} of the prompt`} />
  );
  return (
    <>
      {!isInPlace && images.length > 0 && (
        <div className="prompt-images">{images.map((_, index) => image(index))}</div>
      )}
      {text !== null && (
        <pre className="prompt-text" tabIndex={0} role="group" aria-label="Text of the prompt">
          {parts.map((part, index) => (
            <Fragment key={index}>
              {index > 0 && (isInPlace ? image(index - 1) : <Badge>image</Badge>)}
              {part}
            </Fragment>
          ))}
        </pre>
      )}
    </>
  );
}

/** Token ids with repetitions shortened, as of the placeholders of an image: `151655×64`. */
function runsOf(tokenIds: readonly number[]): string[] {
  const runs: { id: number; times: number }[] = [];
  for (const id of tokenIds) {
    const last = runs.at(-1);
    if (last?.id === id) last.times += 1;
    else runs.push({ id, times: 1 });
  }
  return runs.map(({ id, times }) => (times === 1 ? String(id) : `${id}×${times}`));
}

/** The screen's text that the policy read, beside the screenshot or instead of it. */
function ScreenText({ text }: { text: string | null }) {
  if (text === null) return null;
  return (
    <details className="screen-text">
      <summary>Screen as text ({plural(text.length, 'character')})</summary>
      <pre tabIndex={0} role="group" aria-label="Text of the screen">
        {text}
      </pre>
    </details>
  );
}

/** The policy that sampled, or, if the weights changed, all of them with their numbers of tokens. */
function samplersOf({ policyVersion, policySpans }: TurnView): string {
  if (policySpans === null) return `sampled by ${policyVersion}`;
  const parts = policySpans.map(({ version, tokens }) => `${version} (${plural(tokens, 'token')})`);
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

export function partsOf(rewards: Record<string, number>): string {
  return Object.entries(rewards)
    .map(([name, part]) => `${name} ${number(part)}`)
    .join(', ');
}
