import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { dialects } from '@ui-rl/actions';
import { zipOf } from '@ui-rl/testkit';
import { readAgentNet } from '../../libs/api/src/episodes/readers/agentnet';
import { readAguvis } from '../../libs/api/src/episodes/readers/aguvis';
import { AnswerReader } from '../../libs/api/src/episodes/readers/answer-reader';
import { readAtif } from '../../libs/api/src/episodes/readers/atif';
import { readChat } from '../../libs/api/src/episodes/readers/chat';
import { ImageFiles } from '../../libs/api/src/episodes/readers/image-files';
import { ImportError } from '../../libs/api/src/episodes/readers/json-place';
import { readPlaywright } from '../../libs/api/src/episodes/readers/playwright';
import type { Reader } from '../../libs/api/src/episodes/readers/reader';
import type { Target } from './target';

let temporary: string | undefined;
/** Created on first use. */
function folder(): string {
  if (temporary !== undefined) return temporary;
  const made = (temporary = mkdtempSync(join(tmpdir(), 'uirl-fuzzed-')));
  process.on('exit', () => rmSync(made, { recursive: true, force: true }));
  writeFileSync(join(made, 'a.png'), 'a screenshot');
  return made;
}

const answers = new AnswerReader(dialects.json);
const SIZE = { width: 200, height: 100 };

/** Reads every step of every trajectory. Returns whether there is one. */
async function feed(reader: Reader, input: Uint8Array): Promise<boolean> {
  const path = join(folder(), 'given');
  writeFileSync(path, input);
  let found = false;
  for await (const { steps } of reader(path, { answers, images: new ImageFiles(folder()) })) {
    found = true;
    for (const step of steps) {
      await step.image();
      step.read(SIZE);
    }
  }
  return found;
}

const target = (name: string, reader: Reader, input: Target['input']): Target => ({
  name: `episodes/${name}`,
  input,
  feed: (given) => feed(reader, given),
  isRefusal: (error) => error instanceof ImportError,
});

/** Changed values of a document, of which some bytes change, too. */
function changed(document: unknown): Target['input'] {
  return (mutator) => {
    const text = Buffer.from(JSON.stringify(mutator.value([document])) ?? 'null');
    return mutator.value([true, false, false, false]) === true ? mutator.bytes([text]) : text;
  };
}

const IMAGE = { type: 'image_url', image_url: { url: 'a.png' } };
const CHAT = {
  messages: [
    { role: 'user', content: [{ type: 'text', text: 'Open Mail' }, IMAGE] },
    { role: 'assistant', content: '{"action":"click","x":1,"y":2}' },
    { role: 'user', content: [IMAGE] },
    {
      role: 'assistant',
      content: null,
      tool_calls: [{ id: 'c', type: 'function', function: { name: 'click', arguments: '{"x":1,"y":2}' } }],
    },
  ],
  ui_rl: {
    ...{ run: 'r', rollout_id: 'r-0', task: { description: 'Open Mail' }, seed: 1, status: 'completed' },
    ...{ success: true, reward: 1, rewards: { a: 1 }, policy_version: 0 },
    turns: [{ actions: [{ action: 'click', x: 1, y: 2 }], outcome: 'ok' }, { actions: [] }],
  },
};
const SHOWN = { type: 'image', source: { media_type: 'image/png', path: 'a.png' } };
const ATIF = {
  schema_version: 'ATIF-v1.8',
  session_id: 's',
  agent: { name: 'a', version: '1' },
  steps: [
    { step_id: 1, source: 'user', message: [{ type: 'text', text: 'Open Mail' }, SHOWN] },
    {
      ...{ step_id: 2, source: 'agent', message: 'Analysis' },
      tool_calls: [
        {
          tool_call_id: 'c',
          function_name: 'computer_action',
          arguments: { type: 'scroll', scroll_y: 200, x: 1, y: 2 },
        },
      ],
      observation: { results: [{ source_call_id: 'c', content: [SHOWN] }] },
      metrics: { completion_token_ids: [1, 2], logprobs: [-1, -2] },
    },
  ],
};
const AGENTNET = {
  ...{ task_id: 't', instruction: 'Open Mail', task_completed: true },
  traj: [
    { image: 'a.png', value: { code: 'pyautogui.click(x=0.5, y=0.25)', last_step_correct: true } },
    { image: 'a.png', value: { code: "computer.terminate(status='success')" } },
  ],
};
const AGUVIS = [
  {
    image: 'a.png',
    conversations: [
      { from: 'human', value: '<image>\nInstruction: Open Mail\n\nPrevious actions:\nNone' },
      { from: 'gpt', recipient: 'os', value: 'mobile.swipe(from_coord=[0.5, 0.9], to_coord=[0.5, 0.1])' },
    ],
  },
];
const EVENTS = [
  { type: 'context-options', version: 10, title: 'mail › opens' },
  { type: 'screencast-frame', pageId: 'p', file: 'a.jpeg', width: 400, height: 200, timestamp: 1 },
  { type: 'before', callId: 'c', class: 'Frame', method: 'fill', params: { value: 'x', button: 'left' } },
  { type: 'input', callId: 'c', point: { x: 30, y: 10 }, box: { x: 1, y: 2, width: 3, height: 4 } },
  { type: 'after', callId: 'c' },
];
const traceOf = (events: readonly unknown[]) =>
  zipOf([
    { name: 'trace.trace', content: events.map((event) => `${JSON.stringify(event)}\n`).join('') },
    { name: 'a.jpeg', content: 'a screenshot' },
  ]);

/** Every reader of `ui-rl episodes import`. */
export const episodeTargets: readonly Target[] = [
  target('chat', readChat, changed(CHAT)),
  target('atif', readAtif, changed(ATIF)),
  target('agentnet', readAgentNet, changed(AGENTNET)),
  target('aguvis', readAguvis, changed(AGUVIS)),
  target('trace', readPlaywright, (mutator) => {
    const events = mutator.value([EVENTS]);
    return traceOf(Array.isArray(events) ? events : [events]);
  }),
  target('trace.zip', readPlaywright, (mutator) => mutator.bytes([traceOf(EVENTS)])),
];
