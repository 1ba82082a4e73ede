import type { Action } from '../action';
import type { ObjectNode } from './json-answer';
import type { Part } from './make-dialect';

/** The items of an answer: blocks of a message, parts of a content, items of a response. */
export interface ItemKinds {
  isThought: (item: ObjectNode) => boolean;
  /** Text for the user, which ends the task if there is no call. */
  isMessage: (item: ObjectNode) => boolean;
  /** The calls of an item. @throws Rejection */
  call: (item: ObjectNode) => Part[];
  /** The meaning of messages without any call. */
  finish: (messages: readonly ObjectNode[]) => Action[];
}

/**
 * The parts of an answer that is a list of items. Ignores thoughts, and messages beside calls. Messages without any
 * call end the episode.
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
