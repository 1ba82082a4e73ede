import type { Action } from '../action';
import { Rejection } from './rejection';
import { finished, readItems } from './items';
import { entryOf, flatCall, jsonObjects, nestedCall, textUnder, type ObjectNode } from './json-answer';
import type { DialectParts, Part } from './make-dialect';
import type { Pen } from './pen';
import { withoutQuotes } from './text-arguments';

/**
 * Content blocks of a message: tool calls, and text. Text without any call ends the episode.
 *
 * @param toolset its `toolset_name`; the older form has the tool's name in place of the member's, and `action` in its
 *   input
 * @throws Rejection
 */
function readBlocks(answer: string, toolset: string): Part[] {
  return readItems(jsonObjects(answer), {
    isThought: (block) => /thinking$/.test(textUnder(block, 'type') ?? ''),
    isMessage: (block) => textUnder(block, 'type') === 'text',
    call: (block) => [callOfBlock(block, toolset)],
    finish: (blocks) => [finished(blocks.map((block) => textUnder(block, 'text') ?? '').join(''))],
  });
}

function callOfBlock(block: ObjectNode, toolset: string): Part {
  const other = entryOf(block, 'toolset_name');
  if (other !== undefined && textUnder(block, 'toolset_name') !== toolset)
    throw new Rejection('unknown_action', other.node, `There is no toolset but "${toolset}".`);
  const input = withoutQuotes(entryOf(block, 'input')?.node);
  if (textUnder(block, 'name') !== toolset || other !== undefined)
    return nestedCall(block, 'name', ['input']);
  if (input?.type !== 'object') throw new Rejection('missing_key', block, 'The call needs an "input".');
  return flatCall(input, 'action');
}

/**
 * The format of a toolset's calls.
 * @param callOf the name of the tool and its input; undefined if the toolset cannot express the action
 */
export function blocksOf(
  toolset: string,
  callOf: (action: Action, pen: Pen) => [name: string, input: object] | undefined,
): Pick<DialectParts, 'read' | 'write' | 'join' | 'form'> {
  return {
    read: (answer) => readBlocks(answer, toolset),
    write(action, pen) {
      if (action.action === 'finish') return writeFinish(action);
      const call = callOf(action, pen);
      if (call === undefined) return undefined;
      const [name, input] = call;
      return [JSON.stringify({ type: 'tool_use', name, toolset_name: toolset, input })];
    },
    join: (blocks) => (blocks.length === 1 ? blocks[0] : `[${blocks.join(',')}]`),
    form: 'Answer with a JSON object, the call of a tool, or with a list of them; a text without a call ends the task.',
  };
}

/** @returns undefined for a failure, which blocks cannot express */
function writeFinish(action: Extract<Action, { action: 'finish' }>): string[] | undefined {
  return action.success ? [JSON.stringify({ type: 'text', text: action.message ?? '' })] : undefined;
}
