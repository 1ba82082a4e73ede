import { Random } from '@ui-rl/random';
import { expand, expansions } from './grammar';

describe('templates of wordings', () => {
  it('say one of the alternatives, nested ones and empty ones too', () => {
    expect(expansions('(press|(go|move) on) (the|) <target>').toSorted()).toEqual(
      [
        'go on <target>',
        'go on the <target>',
        'move on <target>',
        'move on the <target>',
        'press <target>',
        'press the <target>',
      ].toSorted(),
    );
  });

  it('fill slots with values as they are, with any signs', () => {
    const text = '$& <b>  (a|b) $1';
    expect(expand('type <text> (now|)', { text }, new Random(1))).toContain(`type ${text}`);
  });

  it('are chosen evenly', () => {
    const random = new Random(3);
    const said = Array.from({ length: 300 }, () => expand('(a|b|c)', {}, random));
    for (const each of ['a', 'b', 'c']) expect(said.filter((one) => one === each).length).toBeGreaterThan(70);
  });

  it.each([
    ['press <target>', 'no value for <target>'],
    ['press (a|b', 'is missing'],
    ['press a)', 'too many'],
  ])('are refused: %s', (template, message) => {
    expect(() => expand(template, {}, new Random(0))).toThrow(message);
  });
});
