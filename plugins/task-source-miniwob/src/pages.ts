/**
 * Sets of MiniWoB++ pages: training pages, held-out pages, later additions, debugging pages, and variants without
 * delays.
 */
export const SUBSETS = ['original', 'hidden', 'additional', 'debug', 'nodelay'] as const;
export type Subset = (typeof SUBSETS)[number];

export const SPLITS = ['train', 'test'] as const;
export type Split = (typeof SPLITS)[number];

/** A page of MiniWoB++. */
export interface Page {
  /** For example `click-test` for `miniwob/click-test.html`. */
  name: string;
  subset: Subset;
  split: Split;
}

/**
 * The 125 pages of BrowserGym's benchmark in its split: 62 for training, 63 for testing; similar pages are in the
 * same split.
 */
const NAMES: Record<Split, Record<Subset, string>> = {
  train: {
    original:
      'book-flight choose-date circle-center click-checkboxes click-collapsible click-collapsible-2 ' +
      'click-dialog click-dialog-2 click-option click-shades click-test-2 count-shape drag-box ' +
      'drag-items drag-shapes drag-sort-numbers enter-date enter-password enter-text enter-text-2 ' +
      'enter-text-dynamic enter-time find-midpoint focus-text focus-text-2 identify-shape ' +
      'login-user navigate-tree read-table read-table-2 search-engine text-editor text-transform ' +
      'use-autocomplete use-colorwheel use-colorwheel-2 use-slider use-slider-2 visual-addition',
    hidden:
      'buy-ticket daily-calendar drag-shapes-2 drag-single-shape draw-circle draw-line ' +
      'form-sequence odd-or-even',
    additional:
      'click-checkboxes-large click-checkboxes-soft click-checkboxes-transfer login-user-popup ' +
      'multi-layouts multi-orderings',
    debug: 'choose-date-easy choose-date-medium click-test-transfer unicode-test',
    nodelay:
      'book-flight-nodelay choose-date-nodelay click-collapsible-2-nodelay ' +
      'click-collapsible-nodelay use-autocomplete-nodelay',
  },
  test: {
    original:
      'bisect-angle choose-list click-button click-button-sequence click-color click-link ' +
      'click-menu click-menu-2 click-pie click-scroll-list click-shape click-tab click-tab-2 ' +
      'click-test click-widget copy-paste copy-paste-2 count-sides drag-circle drag-cube ' +
      'drag-items-grid email-inbox find-word grid-coordinate guess-number highlight-text ' +
      'highlight-text-2 number-checkboxes resize-textarea right-angle scroll-text scroll-text-2 ' +
      'simple-algebra simple-arithmetic social-media terminal tic-tac-toe use-spinner',
    hidden:
      'ascending-numbers find-greatest form-sequence-2 form-sequence-3 generate-number hot-cold ' +
      'order-food phone-book sign-agreement stock-market',
    additional:
      'click-tab-2-hard email-inbox-forward-nl email-inbox-forward-nl-turk email-inbox-nl-turk ' +
      'social-media-all social-media-some',
    debug:
      'click-tab-2-easy click-tab-2-medium email-inbox-delete email-inbox-forward ' +
      'email-inbox-important email-inbox-noscroll email-inbox-reply email-inbox-star-reply',
    nodelay: 'click-pie-nodelay',
  },
};

export const PAGES: readonly Page[] = SPLITS.flatMap((split) =>
  SUBSETS.flatMap((subset) => namesIn(split, subset).map((name) => ({ name, subset, split }))),
).toSorted((a, b) => (a.name < b.name ? -1 : 1));

function namesIn(split: Split, subset: Subset): string[] {
  return NAMES[split][subset].split(' ').filter((name) => name !== '');
}
