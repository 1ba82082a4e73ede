import type { JudgedEpisode, TurnView } from '@ui-rl/records';
import { ActionOverlay, describe } from './action-overlay';
import { number } from './format';

export interface ReportImage {
  /** With the data itself. */
  url: string;
  width: number;
  height: number;
}

export const REPORT_STYLE = `
:root { color-scheme: light dark; --mark: #ff2d7a }
body { max-width: 1200px; margin: 24px auto; padding: 0 16px; font: 15px/1.5 system-ui, sans-serif }
article { display: grid; grid-template-columns: minmax(0, 2fr) minmax(0, 1fr); gap: 16px; margin: 24px 0 }
.screen { position: relative; line-height: 0 } .screen img { width: 100%; border: 1px solid #8886 }
.overlay { position: absolute; inset: 0; width: 100%; height: 100% }
.overlay .point { stroke: var(--mark); fill: none } .overlay .halo { stroke: #ffffffd0 }
.overlay .head, .overlay .number circle { fill: var(--mark); stroke: none } .overlay .number text { fill: #fff }
.words { display: grid; position: absolute; left: 6px; bottom: 6px; padding: 3px 10px; border-radius: 12px;
  background: var(--mark); color: #fff; line-height: 1.4 }
pre { overflow: auto; white-space: pre-wrap; overflow-wrap: anywhere }
@media (max-width: 700px) { article { grid-template-columns: 1fr } }
`;

export interface EpisodeReportProps {
  episode: JudgedEpisode;
  /** By hash. */
  images: ReadonlyMap<string, ReportImage>;
}

/** An episode as a separate page. */
export function EpisodeReport({ episode, images }: EpisodeReportProps) {
  const { description, id, runId, status, success, reward, turns, finalScreenshot, checks } = episode;
  const verdict = success === null ? 'not judged' : success ? 'success' : 'failure';
  return (
    <>
      <h1>{description}</h1>
      <p>
        {status}, {verdict}, reward {number(reward)} · {id} of {runId}
      </p>
      {checks.length > 0 && (
        <ul>
          {checks.map(({ check, holds, found }, index) => (
            <li key={index}>
              {holds === null ? '?' : holds ? '✓' : '✗'} <code>{JSON.stringify(check)}</code>
              {found !== null && `, found ${found}`}
            </li>
          ))}
        </ul>
      )}
      {turns.map((turn) => (
        <article key={turn.index}>
          <Picture image={images.get(turn.screenshot)} actions={turn.actions} />
          <Words turn={turn} />
        </article>
      ))}
      {finalScreenshot !== null && (
        <article>
          <Picture image={images.get(finalScreenshot)} actions={[]} />
          <h2>At the end</h2>
        </article>
      )}
    </>
  );
}

function Words({ turn: { index, actions, text, parseError } }: { turn: TurnView }) {
  return (
    <div>
      <h2>Turn {index + 1}</h2>
      <ul>
        {actions.map((action, place) => (
          <li key={place}>{describe(action)}</li>
        ))}
      </ul>
      {parseError !== null && <p>{parseError}</p>}
      <pre>{text}</pre>
    </div>
  );
}

function Picture({ image, actions }: { image: ReportImage | undefined; actions: TurnView['actions'] }) {
  if (image === undefined) return <div className="screen" />;
  return (
    <div className="screen">
      <img src={image.url} alt="Screenshot" width={image.width} height={image.height} />
      {actions.length > 0 && <ActionOverlay actions={actions} size={image} />}
    </div>
  );
}
