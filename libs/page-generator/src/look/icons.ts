import { readFileSync } from 'node:fs';
import type { Random } from '@ui-rl/random';
import { assets } from './assets';

/** Inner SVG of an icon, drawn in `currentColor` on a canvas of `width` × `height`. */
export interface Icon {
  body: string;
  width: number;
  height: number;
}

/** Common names of icons → names in the icon sets. */
const SET_NAMES: Readonly<Record<string, readonly string[]>> = {
  search: ['search', 'magnifying-glass'],
  close: ['x', 'cross-2', 'close'],
  menu: ['menu', 'hamburger-menu'],
  more: ['more-horizontal', 'dots-horizontal', 'dots-horizontal-triple', 'ellipsis'],
  plus: ['plus', 'add-outline'],
  minus: ['minus'],
  check: ['check', 'checkmark'],
  star: ['star', 'star-full'],
  heart: ['heart'],
  home: ['home', 'house'],
  mail: ['mail', 'envelope-closed', 'envelope'],
  trash: ['trash-2', 'trash'],
  user: ['user', 'person'],
  settings: ['settings', 'gear', 'cog'],
  edit: ['edit-2', 'pencil-1', 'edit-pencil', 'pencil'],
  bell: ['bell', 'notifications-outline'],
  lock: ['lock', 'lock-closed', 'lock-closed'],
  download: ['download'],
  upload: ['upload'],
  refresh: ['refresh-cw', 'refresh', 'update'],
  share: ['share-2', 'share-1', 'share'],
  play: ['play'],
  pause: ['pause'],
  camera: ['camera'],
  image: ['image', 'photo'],
  calendar: ['calendar'],
  clock: ['clock', 'time'],
  folder: ['folder'],
  file: ['file', 'document'],
  flag: ['flag'],
  phone: ['phone', 'mobile'],
  globe: ['globe'],
  bookmark: ['bookmark'],
  cart: ['shopping-cart'],
  filter: ['filter', 'mixer-horizontal', 'funnel'],
  reply: ['corner-up-left', 'reply', 'reset'],
  forward: ['corner-up-right', 'forward', 'resume'],
  sun: ['sun'],
  moon: ['moon'],
  eye: ['eye', 'eye-open', 'view-show'],
  chat: ['message-square', 'chat-bubble', 'conversation'],
  attach: ['paperclip', 'attachment', 'link-2'],
  pin: ['map-pin', 'drawing-pin', 'location', 'pin'],
  send: ['send', 'paper-plane'],
  volume: ['volume-2', 'speaker-loud', 'volume-up'],
  gift: ['gift'],
  key: ['key'],
  map: ['map'],
  'arrow left': ['arrow-left'],
  'arrow right': ['arrow-right'],
  'arrow up': ['arrow-up'],
  'arrow down': ['arrow-down'],
};

/** Names of all icons, whether or not a set has them. */
export const ICON_NAMES: readonly string[] = Object.keys(SET_NAMES);

const stroke = (path: string): Icon => ({
  body: `<path fill="none" stroke="currentColor" stroke-width="2" stroke-linecap="round" stroke-linejoin="round" d="${path}"/>`,
  width: 24,
  height: 24,
});

/** Built-in icons, which need no package. */
const OWN: Readonly<Record<string, Icon>> = {
  search: stroke('M10 4a6 6 0 1 0 0 12a6 6 0 1 0 0-12M15 15l6 6'),
  close: stroke('M5 5l14 14M19 5L5 19'),
  menu: stroke('M4 6h16M4 12h16M4 18h16'),
  more: stroke('M5 12h.1M12 12h.1M19 12h.1'),
  plus: stroke('M12 4v16M4 12h16'),
  minus: stroke('M4 12h16'),
  check: stroke('M4 13l5 5L20 6'),
  star: stroke('M12 3l2.7 6.3 6.8.6-5.2 4.5 1.6 6.7L12 17.5 6.1 21.1l1.6-6.7-5.2-4.5 6.8-.6z'),
  heart: stroke('M12 20C5 15 3 11.500 3 8.500C3 4 9 3 12 7C15 3 21 4 21 8.500C21 11.500 19 15 12 20z'),
  home: stroke('M3 12l9-8 9 8M6 10v10h12V10'),
  mail: stroke('M3 6h18v13H3zM3 7l9 7 9-7'),
  trash: stroke('M4 6h16M9 6V3h6v3M6 6l1 15h10l1-15M10 10v7M14 10v7'),
  user: stroke('M12 4a4 4 0 1 0 0 8a4 4 0 1 0 0-8M4 21c0-9 16-9 16 0'),
  edit: stroke('M4 20l1-5L16 4l4 4L9 19z'),
  lock: stroke('M5 11h14v10H5zM8 11V7c0-5 8-5 8 0v4'),
  download: stroke('M12 3v12M6 10l6 6 6-6M4 21h16'),
  upload: stroke('M12 16V4M6 9l6-6 6 6M4 21h16'),
  play: stroke('M6 4l14 8-14 8z'),
  pause: stroke('M8 4v16M16 4v16'),
  calendar: stroke('M3 5h18v16H3zM3 10h18M8 2v5M16 2v5'),
  clock: stroke('M12 3a9 9 0 1 0 0 18a9 9 0 1 0 0-18M12 7v6l4 2'),
  folder: stroke('M3 5h6l2 3h10v12H3z'),
  file: stroke('M5 2h9l5 5v15H5zM14 2v6h5'),
  flag: stroke('M5 22V3h13l-3 5 3 5H5'),
  bookmark: stroke('M6 3h12v18l-6-5-6 5z'),
  'arrow left': stroke('M20 12H4M10 6l-6 6 6 6'),
  'arrow right': stroke('M4 12h16M14 6l6 6-6 6'),
  'arrow up': stroke('M12 20V4M6 10l6-6 6 6'),
  'arrow down': stroke('M12 4v16M6 14l6 6 6-6'),
};

interface IconFile {
  icons: Record<string, { body: string; width?: number; height?: number }>;
  width?: number;
  height?: number;
}

/** Icons of one set by their common names. */
export type IconSet = ReadonlyMap<string, Icon>;

function readSet(path: string): IconSet {
  const file = JSON.parse(readFileSync(path, 'utf8')) as IconFile;
  const found = new Map<string, Icon>();
  for (const [name, candidates] of Object.entries(SET_NAMES)) {
    const icon = candidates.map((each) => file.icons[each]).find((each) => each !== undefined);
    if (icon === undefined) continue;
    const width = icon.width ?? file.width ?? 16;
    found.set(name, { body: icon.body, width, height: icon.height ?? file.height ?? width });
  }
  return found;
}

let sets: IconSet[] | undefined;

/** All available sets, including the built-in one. */
function iconSets(): IconSet[] {
  sets ??= [new Map(Object.entries(OWN)), ...assets().iconSets.map(({ path }) => readSet(path))];
  return sets;
}

/** The icon set of a page. */
export function drawIconSet(random: Random): IconSet {
  return random.pick(iconSets());
}

/** As an element of `size` CSS pixels. */
export function svg(icon: Icon, size: number, attributes = ''): string {
  return `<svg width="${size}" height="${size}" viewBox="0 0 ${icon.width} ${icon.height}" ${attributes}>${icon.body}</svg>`;
}
