import { Badge, Card, Empty, Problem, type Tone } from '../ui';
import { HandScreen } from './hand-screen';
import { useView, type View } from './live';
import { Proposals } from './proposals';
import { Screen, Turns } from './turns';

const PHASES: Record<View['phase'], { words: string; tone: Tone }> = {
  opening: { words: 'opening the page', tone: 'info' },
  playing: { words: 'playing', tone: 'info' },
  checking: { words: 'doing it again on a fresh page', tone: 'info' },
  choosing: { words: 'when is it done?', tone: 'warn' },
  ended: { words: 'ended', tone: 'good' },
  failed: { words: 'failed', tone: 'bad' },
};

export function TryApp() {
  const { view, connected } = useView();
  const isOver = view?.phase === 'ended' || view?.phase === 'failed';
  return (
    <>
      <header className="top">
        <span className="brand">ui-rl</span>
        <span className="muted">try</span>
        {!isOver && (
          <span className={`live ${connected ? 'on' : 'off'}`} role="status">
            {connected ? 'live' : 'not connected'}
          </span>
        )}
      </header>
      <main>{view === null ? <Empty>Opening …</Empty> : <Tried view={view} />}</main>
    </>
  );
}

function Tried({ view }: { view: View }) {
  const { words, tone } = PHASES[view.phase];
  return (
    <>
      <header className="page-head">
        <div>
          <h1>{view.task}</h1>
          <Badge tone={tone}>{words}</Badge>
          <span className="muted">
            {view.page} · {view.policy}
          </span>
        </div>
      </header>
      {view.phase === 'failed' ? (
        <Problem error={view.message} />
      ) : (
        view.message !== null && <p className="note">{view.message}</p>
      )}
      <div className="try">
        <div className="stage">
          <Stage view={view} />
        </div>
        <div className="aside">
          {view.phase === 'choosing' && <Proposals proposals={view.proposals} />}
          {view.written !== null && <Written written={view.written} />}
          <Turns view={view} />
        </div>
      </div>
    </>
  );
}

function Stage({ view }: { view: View }) {
  if (view.size === null || view.screenshot === null)
    return (
      <Card>
        <Empty>{view.phase === 'failed' ? 'The page was not opened.' : 'The page is being opened …'}</Empty>
      </Card>
    );
  if (view.mode === 'hand' && view.phase === 'playing') return <HandScreen view={view} />;
  return (
    <Card title={view.phase === 'playing' ? 'What it sees now' : 'At the end'}>
      <Screen hash={view.screenshot} size={view.size} actions={[]} />
    </Card>
  );
}

function Written({ written: { files, next } }: { written: NonNullable<View['written']> }) {
  return (
    <Card title="What to type next">
      {next.map(({ words, command }) => (
        <div key={command}>
          <p className="note">{words}</p>
          <code className="sampled command">{command}</code>
        </div>
      ))}
      <p className="note">Written:</p>
      <ul className="files">
        {files.map((file) => (
          <li key={file}>
            <code>{file}</code>
          </li>
        ))}
      </ul>
    </Card>
  );
}
