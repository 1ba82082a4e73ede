import type { Draft, Widget } from '../draft';
import type { PlacedKind } from '../page';
import { buttons, icons, links } from './buttons';
import { checkboxes, radios, toggles } from './choices';
import { grid, list, sortableList, table, tree } from './collections';
import { dialog } from './dialog';
import { accordion, menu, scrollContainer, tabs } from './disclosures';
import { dragAndDrop } from './dragging';
import { field, password, select, spinButton, textArea } from './fields';
import { autocomplete, datePicker } from './pickers';
import { chart, image } from './pictures';
import { shapes } from './shapes';
import { heading, text } from './texts';
import { slider, stepper } from './values';

/** The function that creates each kind of widget, and its frequency relative to others. */
export const WIDGETS: Readonly<Record<PlacedKind, { make: (draft: Draft) => Widget; weight: number }>> = {
  text: { make: text, weight: 9 },
  heading: { make: heading, weight: 4 },
  buttons: { make: buttons, weight: 6 },
  links: { make: links, weight: 4 },
  checkboxes: { make: checkboxes, weight: 4 },
  radios: { make: radios, weight: 3 },
  select: { make: select, weight: 3 },
  field: { make: field, weight: 5 },
  password: { make: password, weight: 1 },
  'text area': { make: textArea, weight: 2 },
  list: { make: list, weight: 4 },
  table: { make: table, weight: 4 },
  tabs: { make: tabs, weight: 2 },
  toggles: { make: toggles, weight: 2 },
  slider: { make: slider, weight: 2 },
  stepper: { make: stepper, weight: 2 },
  'spin button': { make: spinButton, weight: 1 },
  menu: { make: menu, weight: 2 },
  icons: { make: icons, weight: 3 },
  shapes: { make: shapes, weight: 3 },
  accordion: { make: accordion, weight: 2 },
  dialog: { make: dialog, weight: 1 },
  'scroll container': { make: scrollContainer, weight: 2 },
  autocomplete: { make: autocomplete, weight: 1.5 },
  'date picker': { make: datePicker, weight: 1.5 },
  'drag and drop': { make: dragAndDrop, weight: 1.5 },
  'sortable list': { make: sortableList, weight: 1 },
  tree: { make: tree, weight: 2 },
  grid: { make: grid, weight: 2 },
  chart: { make: chart, weight: 1 },
  image: { make: image, weight: 1 },
};
