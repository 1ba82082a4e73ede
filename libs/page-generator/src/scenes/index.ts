import type { Draft } from '../draft';
import type { SceneKind, Viewport } from '../page';
import { chat, feed, files, mail } from './messages';
import { editor, search } from './documents';
import { booking, dashboard, form, settings, shop } from './services';

/** Complete pages of familiar kinds. */
export const SCENES: Readonly<Record<SceneKind, (draft: Draft, viewport: Viewport) => string>> = {
  mail,
  feed,
  chat,
  files,
  booking,
  shop,
  settings,
  dashboard,
  form,
  search,
  editor,
};
