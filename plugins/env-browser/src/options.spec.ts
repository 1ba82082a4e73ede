import browser from '.';
import { BrowserOptions } from './options';

describe('a run whose policy reads text', () => {
  const refusals = (observation: BrowserOptions['observation'], format: object): readonly string[] =>
    browser.conflicts!(Object.assign(new BrowserOptions(), { observation }), {
      model: { action_format: format },
    });

  it.each(['text', 'both'] as const)(
    'is refused where its answers have other numbers than %s',
    (observation) => {
      const format = { name: 'qwen_computer_use', coordinates: 'relative_1000' };
      expect(refusals(observation, format)).toEqual([
        expect.stringMatching(
          /^observation (text|both) .*qwen_computer_use answers in relative_1000: .*screenshot}$/,
        ),
      ]);
    },
  );

  it('may answer in pixels of the screenshot, and in anything where it sees the screenshot alone', () => {
    expect(refusals('text', { name: 'json' })).toEqual([]);
    expect(refusals('both', { name: 'qwen_computer_use', coordinates: 'screenshot' })).toEqual([]);
    expect(refusals('screenshot', { name: 'ui_tars', coordinates: 'relative_1000' })).toEqual([]);
  });
});
