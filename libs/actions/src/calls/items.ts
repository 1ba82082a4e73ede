import type { Action } from '../action';
import type { ObjectNode } from './json-answer';
import type { Part } from './make-dialect';

/** What the items of an answer are: blocks of a message, parts of a content, items of a response. */
export interface ItemKinds {
  isThought: (item: ObjectNode) => boolean;
  /** Words to the user, which end the task where there is no call. */
  isMessage: (item: ObjectNode) => boolean;
  /** The calls that an item makes. @throws Rejection */
  call: (item: ObjectNode) => Part[];
  /** What messages mean that no call goes with. */
  finish: (messages: readonly ObjectNode[]) => Action[];
}

/**
 * The parts of an answer that is a list of items. Thoughts mean nothing; nor do messages beside calls. Messages without any call end the
 * episode.
 *
 * @throws Rejection
 */
export function readItems(items: readonly ObjectNode[], kinds: ItemKinds): Part[] {
  const said = items.filter((item) => !kinds.isThought(item));
  if (said.length > 0 && said.every(kinds.isMessage)) {
    const [{ start }, { end }] = [items[0], items[items.length - 1]];
    return [{ actions: kinds.finish(said), start, end }];
  }
  return items.flatMap((item) =>
    kinds.isThought(item) || kinds.isMessage(item) ? [nothing(item)] : kinds.call(item),
  );
}

function nothing({ start, end }: ObjectNode): Part {
  return { actions: [], start, end };
}

export function finished(said: string, success = true): Action {
  return { action: 'finish', success, ...(said === '' ? {} : { message: said }) };
}
