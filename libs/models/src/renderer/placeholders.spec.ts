import { promptChunks } from './placeholders';

const PAD = 9;
const a = { sha256: 'a', tokens: 2 };
const b = { sha256: 'b', tokens: 3 };

describe('the chunks of a prompt', () => {
  it('are runs of text and of placeholders, in order', () => {
    expect(promptChunks([1, PAD, PAD, 2, 3], [a], PAD)).toEqual([
      { type: 'text', tokens: [1] },
      { type: 'image', sha256: 'a', tokens: 2 },
      { type: 'text', tokens: [2, 3] },
    ]);
  });

  it('tell images apart between whose placeholders nothing stands', () => {
    expect(promptChunks([PAD, PAD, PAD, PAD, PAD, 1], [a, b], PAD)).toEqual([
      { type: 'image', sha256: 'a', tokens: 2 },
      { type: 'image', sha256: 'b', tokens: 3 },
      { type: 'text', tokens: [1] },
    ]);
  });

  it('say where an image continues behind text', () => {
    expect(promptChunks([PAD, PAD, 5, PAD, 6, PAD, PAD], [b, a], PAD)).toEqual([
      { type: 'image', sha256: 'b', tokens: 2 },
      { type: 'text', tokens: [5] },
      { type: 'image', sha256: 'b', tokens: 1, continues: true },
      { type: 'text', tokens: [6] },
      { type: 'image', sha256: 'a', tokens: 2 },
    ]);
  });

  it('are refused where placeholders and features do not add up', () => {
    expect(() => promptChunks([1, PAD], [a], PAD)).toThrow('1 image placeholders, but their 1 images have 2');
    expect(() => promptChunks([1, PAD], [], PAD)).toThrow('0 images have 0 features');
  });
});
