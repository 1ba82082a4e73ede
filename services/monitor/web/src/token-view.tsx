import type { TurnView } from '@ui-rl/records';
import { useId, useState } from 'preact/compat';
import { count, number, plural } from './format';
import { useParam } from './route';
import { type Colour, COLOURS, heatOf, mostPushed, type Token, tokensOf } from './token-measures';

const NAMES: Record<Colour, string> = {
  logprob: 'log-probability',
  push: 'blame and credit',
  ratio: 'ratio of trainer to sampler',
};

const PUSH = 'advantage · ratio · (1 − probability)';

const LEGENDS: Record<Colour, string> = {
  logprob: 'The stronger the colour, the less probable the token.',
  push: `Red: the step made the token less probable. Green: more probable. ${PUSH}.`,
  ratio: 'Green: the trainer gives the token a higher probability than the sampler. Red: a lower one.',
};

/** The answer of a turn, token by token, coloured by what the records hold. */
export function TokenView({ turn }: { turn: TurnView }) {
  const tokens = tokensOf(turn);
  const [chosen, choose] = useParam('colour');
  const isTrained = turn.trained !== null;
  const colour = COLOURS.find((each) => each === chosen && (isTrained || each === 'logprob')) ?? 'logprob';
  const [at, select] = useState(-1);
  return (
    <div className="token-view">
      {turn.tokenTexts === null ? (
        <code className="sampled" tabIndex={0} role="group" aria-label="Answer of the policy">
          {turn.text}
        </code>
      ) : (
        <>
          {isTrained && (
            <label className="muted">
              Colour{' '}
              <select value={colour} onChange={(event) => choose(event.currentTarget.value)}>
                {COLOURS.map((each) => (
                  <option key={each} value={each === 'logprob' ? '' : each}>
                    {NAMES[each]}
                  </option>
                ))}
              </select>
            </label>
          )}
          <Tokens tokens={tokens} colour={colour} at={at} select={select} />
          <Legend token={tokens[at]} colour={colour} isTrained={isTrained} />
        </>
      )}
      {isTrained && <MostPushed tokens={tokens} select={select} />}
      <small className="muted">
        {plural(tokens.length, 'token')}, log-probability{' '}
        {number(turn.logprobs.reduce((sum, each) => sum + each, 0))} after a prompt of{' '}
        {count(turn.promptTokens)}, {count(turn.imageTokens)} of them for images.
        {!isTrained && ' No advantages are recorded for this turn.'}
      </small>
      <TokenTable tokens={tokens} />
    </div>
  );
}

interface TokensProps {
  tokens: Token[];
  colour: Colour;
  at: number;
  select: (place: number) => void;
}

/** One stop of the Tab key; arrow keys move from token to token. */
function Tokens({ tokens, colour, at, select }: TokensProps) {
  const id = useId();
  const strongest = Math.max(0, ...tokens.map(({ push }) => Math.abs(push ?? 0)));
  const onKeyDown = (event: KeyboardEvent) => {
    const step = { ArrowLeft: -1, ArrowUp: -1, ArrowRight: 1, ArrowDown: 1 }[event.key];
    if (step === undefined) return;
    // The player's arrow keys change the frame.
    event.stopPropagation();
    event.preventDefault();
    const next = Math.min(Math.max(at + step, 0), tokens.length - 1);
    select(next);
    document.getElementById(`${id}-${next}`)?.scrollIntoView({ block: 'nearest' });
  };
  return (
    <div
      className={`sampled tokens by-${colour}`}
      role="listbox"
      tabIndex={0}
      aria-label="Answer of the policy"
      aria-activedescendant={at < 0 ? undefined : `${id}-${at}`}
      onKeyDown={onKeyDown}
    >
      {tokens.map((token) => (
        <span
          key={token.place}
          id={`${id}-${token.place}`}
          role="option"
          aria-selected={token.place === at}
          aria-label={token.text === '' ? `token ${token.id}` : undefined}
          className={classOf(token, colour, strongest)}
          style={{ '--heat': `${Math.abs(heatOf(token, colour, strongest)) * 70}%` }}
          onMouseEnter={() => select(token.place)}
          onClick={() => select(token.place)}
        >
          {token.text === '' ? '␣' : token.text}
        </span>
      ))}
    </div>
  );
}

function classOf(token: Token, colour: Colour, strongest: number): string {
  const { text, weight, push } = token;
  const side = colour === 'logprob' ? '' : heatOf(token, colour, strongest) < 0 ? 'loses' : 'gains';
  const mark = (push ?? 0) * 2 < -strongest ? 'blamed' : (push ?? 0) * 2 > strongest ? 'credited' : '';
  return [side, mark, text === '' ? 'silent' : '', weight === 0 ? 'masked' : ''].filter(Boolean).join(' ');
}

interface LegendProps {
  token: Token | undefined;
  colour: Colour;
  isTrained: boolean;
}

/** The numbers of a token, in the place of the legend so that nothing moves. */
function Legend({ token, colour, isTrained }: LegendProps) {
  return (
    <p className="token-legend muted" aria-live="polite">
      {token === undefined
        ? `${LEGENDS[colour]}${isTrained ? ' Underlined: blamed (red) or credited (green) most.' : ''} Point at a token, or use ← and → in the answer.`
        : say(token)}
    </p>
  );
}

function say(token: Token): string {
  const { place, id, text, logprob, advantage, trainerLogprob, ratio, weight, push } = token;
  const parts = [
    `${place + 1}. ${text === '' ? 'no text' : JSON.stringify(text)} (token ${id})`,
    `probability ${number(Math.exp(logprob), 3)}, log-probability ${number(logprob, 3)}`,
  ];
  if (advantage !== null) {
    parts.push(
      `advantage ${number(advantage)}`,
      `trainer's log-probability ${number(trainerLogprob, 3)}, ratio ${number(ratio, 3)}`,
      weight === 0 ? 'masked: not trained on' : `weight in the loss ${number(weight, 4)}`,
      `pushed ${(push ?? 0) < 0 ? 'down' : 'up'} by ${number(Math.abs(push ?? 0), 3)}`,
    );
  }
  return parts.join(' · ');
}

/** Answers at a glance which tokens got the blame, and which the credit. */
function MostPushed({ tokens, select }: { tokens: Token[]; select: (place: number) => void }) {
  const lists = [
    { label: 'Blamed most', list: mostPushed(tokens, -1), className: 'blamed' },
    { label: 'Credited most', list: mostPushed(tokens, 1), className: 'credited' },
  ].filter(({ list }) => list.length > 0);
  if (lists.length === 0)
    return <p className="muted">The step gave these tokens neither blame nor credit.</p>;
  return lists.map(({ label, list, className }) => (
    <p key={label} className="most-pushed" title={`How far the step pushed them: ${PUSH}`}>
      <span className="muted">{label}</span>
      {list.map((token) => (
        <button key={token.place} type="button" className={className} onClick={() => select(token.place)}>
          {token.text.trim()} <span>{signed(token.push!)}</span>
        </button>
      ))}
    </p>
  ));
}

function signed(value: number): string {
  return `${value < 0 ? '−' : '+'}${number(Math.abs(value), 3)}`;
}

/** The same numbers for screen readers, and to copy. */
function TokenTable({ tokens }: { tokens: Token[] }) {
  const [isOpen, open] = useState(false);
  return (
    <details className="screen-text" onToggle={(event) => open(event.currentTarget.open)}>
      <summary>Tokens as a table</summary>
      {isOpen && (
        <div className="scroll token-table" tabIndex={0} role="group" aria-label="Tokens as a table">
          <table className="rows">
            <thead>
              <tr>
                {HEADS.map((head) => (
                  <th key={head} scope="col" className={head === 'Text' ? '' : 'num'}>
                    {head}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {tokens.map((token) => (
                <tr key={token.place}>
                  <td className="num">{token.place + 1}</td>
                  <td>
                    <code>{token.text}</code>
                  </td>
                  <td className="num">{token.id}</td>
                  <td className="num">{number(Math.exp(token.logprob), 3)}</td>
                  <td className="num">{number(token.logprob, 3)}</td>
                  <td className="num">{number(token.advantage)}</td>
                  <td className="num">{number(token.trainerLogprob, 3)}</td>
                  <td className="num">{number(token.ratio, 3)}</td>
                  <td className="num">{token.weight === 0 ? 'masked' : number(token.weight, 4)}</td>
                  <td className="num">{token.push === null ? '–' : signed(token.push)}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </details>
  );
}

const HEADS = [
  '#',
  'Text',
  'Token',
  'Probability',
  'Log-probability',
  'Advantage',
  'Trainer’s log-probability',
  'Ratio',
  'Weight',
  'Push',
];
