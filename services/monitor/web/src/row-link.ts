import { goTo } from './route';

/**
 * Makes a whole row a link, as a browser's links behave: with Ctrl, Cmd or the middle button it opens a tab; a click
 * that selects text, or hits a link or an id (`small`) within the row, is not one on the row.
 */
export function rowLink(href: string) {
  return {
    className: 'link',
    onClick: (event: MouseEvent) => {
      if (isElsewhere(event) || window.getSelection()?.isCollapsed === false) return;
      if (event.ctrlKey || event.metaKey || event.shiftKey) window.open(href, '_blank', 'noopener');
      else goTo(href);
    },
    onAuxClick: (event: MouseEvent) => {
      if (event.button === 1 && !isElsewhere(event)) window.open(href, '_blank', 'noopener');
    },
  };
}

function isElsewhere({ target, defaultPrevented }: MouseEvent): boolean {
  return defaultPrevented || (target as Element).closest('a, button, input, select, label, small') !== null;
}
