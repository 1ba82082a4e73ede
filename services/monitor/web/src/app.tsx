import { useConnected } from './api';
import { CompareView } from './compare-view';
import { EpisodeView } from './episode-view';
import { links, type Route, useRoute } from './route';
import { RunView } from './run-view';
import { RunsView } from './runs-view';
import { DeadLetterView } from './dead-letters-view';
import { StepView } from './step-view';

export function App() {
  const route = useRoute();
  const connected = useConnected();
  return (
    <>
      <header className="top">
        <a className="brand" href={links.runs}>
          ui-rl
        </a>
        <nav>
          <a href={links.runs} aria-current={route.view === 'runs' ? 'page' : undefined}>
            Runs
          </a>
          <a href={links.deadLetters} aria-current={route.view === 'dead-letters' ? 'page' : undefined}>
            Dead letters
          </a>
        </nav>
        <span className={`live ${connected ? 'on' : 'off'}`} role="status">
          {connected ? 'live' : 'not connected'}
        </span>
      </header>
      <main>
        <View route={route} />
      </main>
    </>
  );
}

function View({ route }: { route: Route }) {
  if (route.view === 'run') {
    return <RunView key={route.run} id={route.run} tab={route.tab} playedFor={route.playedFor} />;
  }
  if (route.view === 'step') return <StepView key={route.run} run={route.run} step={route.step} />;
  if (route.view === 'compare') return <CompareView runs={route.runs} />;
  if (route.view === 'episode') return <EpisodeView key={route.episode} id={route.episode} />;
  if (route.view === 'dead-letters') return <DeadLetterView />;
  return <RunsView />;
}
