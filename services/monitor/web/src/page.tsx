import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { App } from './app';
import { keepScroll } from './scroll';
import { followTheme } from './theme';

/** Draws the page, and keeps it current. */
export function showPage(root: HTMLElement): void {
  keepScroll();
  followTheme();
  createRoot(root).render(
    <StrictMode>
      <App />
    </StrictMode>,
  );
}
