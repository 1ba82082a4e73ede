import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
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
import { App } from './app';
import { keepScroll } from './scroll';
import { followTheme } from './theme';

keepScroll();
followTheme();
const root = document.getElementById('root');
if (root !== null) {
  createRoot(root).render(
    <StrictMode>
      <App />
    </StrictMode>,
  );
}
