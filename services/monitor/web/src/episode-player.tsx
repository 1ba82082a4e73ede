import type { JudgedEpisode, TurnView } from '@ui-rl/records';
import { useEffect, useRef, useState } from 'preact/compat';
import { screenshotUrl } from './api';
import { BesideChooser, FirstDifference, PaneTitle, useBeside } from './beside';
import { links, useParam } from './route';
import { Screen } from './screen';
import { TurnDetails } from './turn-details';
import { Card, Empty, Problem, Result } from './ui';

/** A turn's screenshot, or the final one. */
interface Frame {
  hash: string;
  turn: TurnView | null;
}

const SCALES = ['0.5', '1', '1.5', '2', '3', '4'];
const SPEEDS = ['0.5', '1', '2', '4', '8'];

function framesOf({ turns, finalScreenshot }: JudgedEpisode): Frame[] {
  const last = finalScreenshot === null ? [] : [{ hash: finalScreenshot, turn: null }];
  return [...turns.map((turn) => ({ hash: turn.screenshot, turn })), ...last];
}

/** Plays an episode frame by frame, alone or beside another one of its task. The address says which: `?turn=3`. */
export function EpisodePlayer({ episode }: { episode: JudgedEpisode }) {
  const frames = framesOf(episode);
  const { other, error } = useBeside();
  const others = other === null ? [] : framesOf(other);
  const [chosen, choose] = useParam('turn');
  const [scale, setScale] = useParam('scale');
  const [difference, setDifference] = useParam('difference');
  const [speed, setSpeed] = useState('1');
  const [isPlaying, play] = useState(false);
  const last = Math.max(frames.length, others.length) - 1;
  const at = Math.min(Math.max((Number(chosen) || 1) - 1, 0), last);
  const isLast = at >= last;
  const go = (index: number) => choose(String(Math.min(Math.max(index, 0), last) + 1));
  const playOrPause = () => {
    if (!isPlaying && isLast) go(0);
    play(!isPlaying);
  };
  useKeys({ ArrowLeft: () => go(at - 1), ArrowRight: () => go(at + 1), ' ': playOrPause });
  useEffect(() => {
    if (!isPlaying) return undefined;
    const timer = setTimeout(() => (isLast ? play(false) : go(at + 1)), 1_000 / Number(speed));
    return () => clearTimeout(timer);
  }, [isPlaying, isLast, at, speed]);
  if (frames.length === 0)
    return (
      <Card aside={<Neighbours episode={episode} />} title="Turns">
        <Empty>No turn was played.</Empty>
      </Card>
    );
  const isAtEnd = at >= episode.turns.length;
  const panes = { at, scale, difference };
  return (
    <section className="card player" aria-label="Player">
      <header>
        <div className="controls">
          <button type="button" aria-label="Previous frame" disabled={at === 0} onClick={() => go(at - 1)}>
            ←
          </button>
          <button type="button" aria-label={isPlaying ? 'Pause' : 'Play'} onClick={playOrPause}>
            {isPlaying ? '❚❚' : '▶'}
          </button>
          <button type="button" aria-label="Next frame" disabled={isLast} onClick={() => go(at + 1)}>
            →
          </button>
          <strong className="place" aria-live="polite">
            {isAtEnd ? 'At the end' : `Turn ${at + 1}`}{' '}
            <span className="muted">of {episode.turns.length}</span>
          </strong>
          <select aria-label="Speed" value={speed} onChange={(event) => setSpeed(event.currentTarget.value)}>
            {SPEEDS.map((each) => (
              <option key={each} value={each}>
                {each} {each === '1' ? 'frame' : 'frames'}/s
              </option>
            ))}
          </select>
          <select aria-label="Size" value={scale} onChange={(event) => setScale(event.currentTarget.value)}>
            <option value="">Fit</option>
            {SCALES.map((each) => (
              <option key={each} value={each}>
                {Number(each) * 100} %
              </option>
            ))}
          </select>
          <select
            aria-label="Differences"
            value={difference}
            onChange={(event) => setDifference(event.currentTarget.value)}
          >
            <option value="">No differences</option>
            <option value="before">Since the frame before</option>
            {other !== null && <option value="beside">To the other episode</option>}
          </select>
          <BesideChooser episode={episode} />
        </div>
        <Neighbours episode={episode} />
      </header>
      <Problem error={error} />
      {other === null ? (
        <div className="shown">
          <Pane episode={episode} frames={frames} {...panes} />
        </div>
      ) : (
        <>
          <FirstDifference episode={episode} other={other} go={go} />
          <div className="pair">
            <div>
              <PaneTitle episode={episode} />
              <Pane episode={episode} frames={frames} others={others} otherRun={other.runId} {...panes} />
            </div>
            <div>
              <PaneTitle episode={other} />
              <Pane episode={other} frames={others} others={frames} otherRun={episode.runId} {...panes} />
            </div>
          </div>
        </>
      )}
      <Filmstrip run={episode.runId} frames={frames} at={at} go={go} />
      {other !== null && <Filmstrip run={other.runId} frames={others} at={at} go={go} />}
      <p className="note">Keys: ← and → change the frame, Space plays.</p>
    </section>
  );
}

interface PaneProps {
  episode: JudgedEpisode;
  frames: Frame[];
  at: number;
  scale: string;
  difference: string;
  /** Frames of the episode beside it. */
  others?: Frame[];
  otherRun?: string;
}

/** A frame with its details; the last frame stays after the end. */
function Pane({ episode, frames, at, scale, difference, others = [], otherRun = '' }: PaneProps) {
  const place = Math.min(at, frames.length - 1);
  const frame = frames[place];
  if (frame === undefined) return <Empty>No turn was played.</Empty>;
  const { runId, status, success } = episode;
  const before = difference === 'before' ? frames[place - 1] : undefined;
  const beside = difference === 'beside' ? others[Math.min(at, others.length - 1)] : undefined;
  const comparedTo = before
    ? screenshotUrl(runId, before.hash)
    : beside && screenshotUrl(otherRun, beside.hash);
  return (
    <>
      <div className={`frame ${scale === '' ? '' : 'scrolls'}`} tabIndex={scale === '' ? undefined : 0}>
        <Screen
          run={runId}
          hash={frame.hash}
          actions={frame.turn?.actions ?? []}
          scale={scale === '' ? 'fit' : Number(scale) || 1}
          comparedTo={comparedTo}
        />
      </div>
      {frame.turn === null ? (
        <div className="details">
          <p className="act">
            <strong>At the end</strong>
          </p>
          <Result status={status} success={success} />
        </div>
      ) : (
        <TurnDetails run={runId} episode={episode.id} turn={frame.turn} />
      )}
    </>
  );
}

interface FilmstripProps {
  run: string;
  frames: readonly Frame[];
  at: number;
  go: (index: number) => void;
}

function Filmstrip({ run, frames, at, go }: FilmstripProps) {
  const strip = useRef<HTMLOListElement>(null);
  useEffect(() => {
    const shown = strip.current?.children[Math.min(at, frames.length - 1)] as HTMLElement | undefined;
    if (shown === undefined || strip.current === null) return;
    strip.current.scrollLeft = shown.offsetLeft - (strip.current.clientWidth - shown.clientWidth) / 2;
  }, [at]);
  return (
    <ol className="filmstrip" ref={strip} tabIndex={0} aria-label="Frames">
      {frames.map(({ hash, turn }, index) => {
        const name = turn === null ? 'At the end' : `Turn ${index + 1}`;
        return (
          <li key={index}>
            <button
              type="button"
              aria-label={name}
              aria-current={index === Math.min(at, frames.length - 1) ? 'true' : undefined}
              onClick={() => go(index)}
            >
              <img src={screenshotUrl(run, hash)} alt="" loading="lazy" />
              <span>{turn === null ? 'end' : index + 1}</span>
            </button>
          </li>
        );
      })}
    </ol>
  );
}

/** The neighbours in the episode's group. */
function Neighbours({ episode: { id, group } }: { episode: JudgedEpisode }) {
  const place = group.findIndex((each) => each.id === id);
  if (group.length < 2 || place < 0) return null;
  const [before, after] = [group[place - 1], group[place + 1]];
  return (
    <nav className="controls" aria-label="Episodes of the group">
      {before !== undefined && (
        <a className="button" href={links.episode(before.id)}>
          ← Previous
        </a>
      )}
      <span className="muted">
        {place + 1} of {group.length} in the group
      </span>
      {after !== undefined && (
        <a className="button" href={links.episode(after.id)}>
          Next →
        </a>
      )}
    </nav>
  );
}

/** Handles keys of the page, unless they belong to a field, a button or a region that scrolls. */
function useKeys(handlers: Record<string, () => void>): void {
  const latest = useRef(handlers);
  latest.current = handlers;
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      const { target, key, ctrlKey, metaKey, altKey, shiftKey } = event;
      const handler = latest.current[key];
      if (handler === undefined || ctrlKey || metaKey || altKey || shiftKey) return;
      const own = key === ' ' ? 'button, a, input, select, textarea, summary' : 'input, select, textarea';
      if ((target as Element).closest(own) !== null) return;
      event.preventDefault();
      handler();
    };
    window.addEventListener('keydown', onKey);
    return () => window.removeEventListener('keydown', onKey);
  }, []);
}
