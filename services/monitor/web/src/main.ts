import 'uplot/dist/uPlot.min.css';
import './styles/base.css';
import './styles/parts.css';
import './styles/episode.css';
import './styles/tokens.css';
import './styles/evaluations.css';
import './styles/configuration.css';
import './styles/steps.css';
import './styles/runs.css';
import './styles/health.css';
import { readAhead } from './api';
import { firstReads } from './reads';

async function show(): Promise<void> {
  const { showPage } = await import('./page');
  if (document.readyState === 'loading') {
    await new Promise((resolve) => document.addEventListener('DOMContentLoaded', resolve, { once: true }));
  }
  const root = document.getElementById('root');
  if (root !== null) showPage(root);
}

void show();
// While the rest of the scripts loads, the data of the page is on its way.
void readAhead(firstReads(window.location.hash));
