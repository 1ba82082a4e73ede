import { trainStepFlops, type ModelCost } from './flops';

/** Two decoder layers of width 4 with one linear layer each besides attention, and a vision tower of one block. */
const model: ModelCost = {
  linears: [
    { name: 'visual.blocks.0.attn.proj', inFeatures: 3, outFeatures: 3, part: 'vision', group: 'attention' },
    { name: 'visual.merger.linear_fc1', inFeatures: 12, outFeatures: 4, part: 'vision', group: 'merger' },
    {
      name: 'text.layers.0.self_attn.q_proj',
      inFeatures: 4,
      outFeatures: 8,
      part: 'text',
      group: 'attention',
    },
    { name: 'text.layers.0.mlp.up_proj', inFeatures: 4, outFeatures: 10, part: 'text', group: 'mlp' },
    {
      name: 'text.layers.1.self_attn.q_proj',
      inFeatures: 4,
      outFeatures: 8,
      part: 'text',
      group: 'attention',
    },
    {
      name: 'text.layers.1.self_attn.k_proj',
      inFeatures: 4,
      outFeatures: 2,
      part: 'text',
      group: 'attention',
    },
    { name: 'text.layers.1.mlp.up_proj', inFeatures: 4, outFeatures: 10, part: 'text', group: 'mlp' },
  ],
  hiddenSize: 4,
  vocabSize: 20,
  patchSize: 7,
  patchesPerToken: 4,
};
/** 5 tokens, of which the last two are trained: predicted from 3 and 4 tokens. */
const step = { samples: [{ tokens: 5, trained: [3, 4] }], images: [{ patches: 8 }] };

const text =
  3 * (2 * 5 * 4 * 8) + // queries of layer 0 for all tokens
  3 * (4 * 8 * 15) + // its attention: 1 + 2 + 3 + 4 + 5 pairs
  3 * (2 * 5 * 4 * 10) + // its feed-forward
  3 * (2 * 2 * 4 * 8) + // queries of the last layer for 2 positions
  3 * (4 * 8 * 7) + // their attention: 3 + 4 pairs
  3 * (2 * 5 * 4 * 2) + // its keys for all tokens
  3 * (2 * 2 * 4 * 10) + // its feed-forward for 2 positions
  3 * (2 * 2 * 4 * 20); // output layer

const vision =
  3 * (2 * 8 * 3 * 3) + // output of attention
  3 * (4 * 3 * 64) + // attention between 8 patches
  3 * (2 * 2 * 12 * 4) + // merger: 2 tokens
  2 * (2 * 8 * 7 * 3); // patch embedding, no gradient of pixels

describe('useful floating-point operations of a training step', () => {
  it('counts three products per layer, attention below the diagonal, and the vision tower once per image', () => {
    expect(trainStepFlops(model, step, { mode: 'full' })).toBe(text + vision);
  });

  it('does not depend on how samples share images, only on the distinct ones', () => {
    const twice = { samples: [...step.samples, ...step.samples], images: step.images };
    expect(trainStepFlops(model, twice, { mode: 'full' })).toBe(2 * text + vision);
  });

  it('counts an adapter besides two products with its frozen weight, and no vision', () => {
    const one: ModelCost = { ...model, linears: [model.linears[3], model.linears[6]] };
    const frozen = 2 * (2 * 5 * 4 * 10) + 2 * (2 * 2 * 4 * 10) + 2 * (2 * 2 * 4 * 20);
    const adapters = 3 * 2 * 5 * (4 * 6 + 6 * 10) + 3 * 2 * 2 * (4 * 6 + 6 * 10);
    expect(trainStepFlops(one, step, { mode: 'lora', rank: 6 })).toBe(frozen + adapters);
  });

  it('counts the experts that a token passes, not all there are', () => {
    const experts = model.linears.map((linear) =>
      linear.name.endsWith('up_proj') ? { ...linear, stack: { count: 16, used: 3 } } : linear,
    );
    const twoMore = 2 * 3 * (2 * 5 * 4 * 10 + 2 * 2 * 4 * 10);
    expect(trainStepFlops({ ...model, linears: experts }, step, { mode: 'full' })).toBe(
      text + vision + twoMore,
    );
  });

  it('needs no gradient of what the first layer reads where embeddings are frozen', () => {
    const queries: ModelCost = { ...model, linears: [model.linears[2], model.linears[6]] };
    const first = 2 * 5 * 4 * 8 + 3 * 4 * 8 * 15 + 2 * (2 * 5 * 4 * 1) + 3 * (2 * 5 * 1 * 8);
    const rest = 2 * (2 * 2 * 4 * 10) + 3 * 2 * 2 * (4 * 1 + 1 * 10) + 2 * (2 * 2 * 4 * 20);
    expect(trainStepFlops(queries, step, { mode: 'lora', rank: 1 })).toBe(first + rest);
  });
});
