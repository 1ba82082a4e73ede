import { render } from 'preact';
import { App } from './app';
import { keepScroll } from './scroll';
import { followTheme } from './theme';

/** Draws the page, and keeps it current. */
export function showPage(root: HTMLElement): void {
  keepScroll();
  followTheme();
  render(<App />, root);
}
