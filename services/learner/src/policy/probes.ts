import type { Renderer } from '@ui-rl/models';

const TURNS = [
  ['Turn on Wi-Fi. What is the next action?', '{"action":"click","x":83,"y":41}'],
  [
    'Which of these would you press to go back, and why?',
    'The arrow at the top left, since it leads to the last screen.',
  ],
  ['Write 0 1 2 3 4 5 6 7 8 9.', '{"action":"type","text":"0 1 2 3 4 5 6 7 8 9"}'],
];

/**
 * Conversations on which the log-probabilities of an engine and of external samplers are compared: without images,
 * always the same.
 */
export function probesOf(renderer: Renderer): number[][] {
  return TURNS.map(([question, answer]) => {
    const messages = [{ role: 'user' as const, content: question }];
    return renderer.renderWithResponse(messages, [], answer).tokenIds;
  });
}
