import { type RefObject, useEffect, useRef } from 'preact/compat';
import { useConnected } from './api';
import { CompareView } from './compare-view';
import { EpisodeView } from './episode-view';
import { links, type Route, useRoute } from './route';
import { RunView } from './run-view';
import { RunsView } from './runs-view';
import { DeadLetterView } from './dead-letters-view';
import { StepView } from './step-view';
import { type Theme, useTheme } from './theme';

export function App() {
  const route = useRoute();
  const connected = useConnected();
  const main = useRef<HTMLElement>(null);
  useKeptFocus(main, JSON.stringify(route));
  return (
    <>
      <a
        className="skip"
        href="#main"
        onClick={(event) => {
          // The part of the address after # names the page.
          event.preventDefault();
          main.current?.focus();
        }}
      >
        Skip to the content
      </a>
      <header className="top">
        <a className="brand" href={links.runs}>
          ui-rl
        </a>
        <nav aria-label="Monitor">
          <a href={links.runs} aria-current={route.view === 'runs' ? 'page' : undefined}>
            Runs
          </a>
          <a href={links.deadLetters} aria-current={route.view === 'dead-letters' ? 'page' : undefined}>
            Dead letters
          </a>
        </nav>
        <ThemeChooser />
        <span className={`live ${connected ? 'on' : 'off'}`} role="status">
          {connected ? 'live' : 'not connected'}
        </span>
      </header>
      <main ref={main} id="main" tabIndex={-1}>
        <View route={route} />
      </main>
    </>
  );
}

/** Continues in the content for a keyboard whose focused link went with the page that it left. */
function useKeptFocus(main: RefObject<HTMLElement | null>, page: string): void {
  const first = useRef(page);
  useEffect(() => {
    if (first.current === page) return;
    first.current = '';
    if (document.activeElement === document.body) main.current?.focus({ preventScroll: true });
  }, [main, page]);
}

function ThemeChooser() {
  const [theme, choose] = useTheme();
  return (
    <select
      className="theme"
      aria-label="Theme"
      value={theme}
      onChange={(event) => choose(event.currentTarget.value as Theme)}
    >
      <option value="">As the system</option>
      <option value="light">Light</option>
      <option value="dark">Dark</option>
    </select>
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
