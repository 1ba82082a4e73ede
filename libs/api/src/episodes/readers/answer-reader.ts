import { readAction, type Action, type Dialect } from '@ui-rl/actions';
import type { ImageSize } from '@ui-rl/contracts';
import type { Reading } from '../demonstration';
import { failureOf, type FunctionCall } from './answers';
import { isComputerAction, readComputerAction } from './computer-action';

/** Reads the actions of foreign answers. */
export class AnswerReader {
  /** @param dialect the action format of the answers */
  constructor(private readonly dialect: Pick<Dialect, 'parse'>) {}

  text(text: string, size: ImageSize): Reading {
    const parsed = this.dialect.parse(text, { screenshot: size, modelImage: size });
    return parsed.ok ? parsed : failureOf(parsed);
  }

  /** Calls in ui-rl's vocabulary, of Harbor's computer-1, or in the action format. */
  calls(calls: readonly FunctionCall[], size: ImageSize): Reading {
    const actions: Action[] = [];
    for (const call of calls) {
      const read = this.call(call, size);
      if (!read.ok) return read;
      actions.push(...read.actions);
    }
    return actions.length > 0 ? { ok: true, actions } : { ok: false, reason: 'no_action' };
  }

  private call(call: FunctionCall, size: ImageSize): Reading {
    if (isComputerAction(call)) return readComputerAction(call);
    const own = readAction({ action: call.name, ...call.arguments });
    if (own.ok) return { ok: true, actions: [own.action] };
    const read = this.text(JSON.stringify(call), size);
    if (read.ok) return read;
    const isKnown = own.reason !== 'unknown_action' && own.reason !== 'no_action';
    return isKnown ? failureOf(own) : { ok: false, reason: `function ${call.name}`, detail: read.detail };
  }
}
