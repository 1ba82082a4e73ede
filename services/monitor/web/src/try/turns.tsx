import type { CSSProperties } from 'preact/compat';
import { ActionOverlay, describe } from '../action-overlay';
import { Badge, Card, Empty } from '../ui';
import { type Action, screenshotUrl, type Turn, type View } from './live';

/** For the style sheet, which gives a picture the page's aspect ratio. */
export function shapeOf({ width, height }: { width: number; height: number }): CSSProperties {
  return { '--wide': width, '--high': height };
}

/** A screenshot with actions drawn on it. */
export function Screen({
  hash,
  size,
  actions,
}: {
  hash: string;
  size: { width: number; height: number };
  actions: readonly Action[];
}) {
  return (
    <div className={`screen ${size.width <= 400 ? 'small' : ''}`} style={shapeOf(size)}>
      <img src={screenshotUrl(hash)} alt="Screenshot" width={size.width} height={size.height} />
      {actions.length > 0 && <ActionOverlay actions={actions} size={size} />}
    </div>
  );
}

/** All turns, newest first. */
export function Turns({ view: { turns, size, mode } }: { view: View }) {
  return (
    <Card
      title={mode === 'hand' ? 'What you did' : 'What it did'}
      aside={<span className="muted">{turns.length}</span>}
    >
      {turns.length === 0 && <Empty>{mode === 'hand' ? 'Nothing yet.' : 'It has not answered yet.'}</Empty>}
      <ol className="played">
        {size !== null &&
          turns.toReversed().map((turn) => <Played key={turn.index} turn={turn} size={size} />)}
      </ol>
    </Card>
  );
}

function Played({ turn, size }: { turn: Turn; size: { width: number; height: number } }) {
  const { index, actions, outcome, parseError, text, seconds } = turn;
  return (
    <li className="turn">
      <Screen hash={turn.screenshot} size={size} actions={actions} />
      <div>
        <p className="act">
          <span className="index">{index + 1}</span>
          <span className="actions">
            {actions.length === 0 ? (
              <Badge tone="bad">no action</Badge>
            ) : (
              actions.map((action, place) => <strong key={place}>{describe(action)}</strong>)
            )}
            {outcome !== null && outcome !== 'ok' && (
              <Badge tone="warn">{outcome.replaceAll('_', ' ')}</Badge>
            )}
          </span>
        </p>
        {parseError !== null && <p className="problem">{parseError}</p>}
        {text !== null && <code className="sampled">{text}</code>}
        <small className="muted">{seconds.toFixed(1)} s</small>
      </div>
    </li>
  );
}
