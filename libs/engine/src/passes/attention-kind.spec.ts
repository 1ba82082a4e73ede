import { attentionFor, layerAttention } from './attention-kind';

describe('the attention algorithm', () => {
  it('holds all scores at once up to 2048 positions, then blocks: large ones on a GPU, while they fit', () => {
    const kinds = [2048, 3600, 4097].map((places) => [
      attentionFor(places, 'cpu'),
      attentionFor(places, 'gpu-buffer'),
    ]);
    expect(kinds).toEqual([
      ['whole', 'whole'],
      ['blocks', 'large blocks'],
      ['blocks', 'blocks'],
    ]);
  });

  it('of passes in layers needs no loop on a GPU for 2048 tokens in two sequences', () => {
    expect(layerAttention(2, 1001, 'gpu-buffer')).toBe('whole');
    expect(layerAttention(16, 128, 'gpu-buffer')).toBe('whole');
    expect(layerAttention(1, 1500, 'gpu-buffer')).toBe('large blocks');
    expect(layerAttention(1, 5000, 'gpu-buffer')).toBe('blocks');
    expect(layerAttention(1, 10, 'cpu')).toBe('blocks');
  });
});
