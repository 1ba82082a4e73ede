import type { Datum, Engine } from '@ui-rl/plugin-kit';
import { step, TestModel, trained } from '../../test/test-model';

let model: TestModel;
let engine: Engine | undefined;
beforeAll(async () => (model = await TestModel.of('qwen3-vl-a')));
afterEach(() => engine?.stop());

describe('losses that requests name', () => {
  it('may come from a module outside; pairs and sequences are never parted', async () => {
    const [a, b, c, d] = model.lessons();
    const paired = (datum: Datum, sequence: string, pair: Datum['pair']): Datum => ({
      ...datum,
      lossInputs: { reference_logprobs: Array.from(datum.weights, () => -5) },
      sequence,
      pair,
    });
    const data = [
      paired(a, 'a', { id: 'p', side: 'chosen' }),
      paired(b, 'b', { id: 'p', side: 'rejected' }),
      paired(c, 'c', { id: 'q', side: 'rejected' }),
      paired(d, 'd', { id: 'q', side: 'chosen' }),
    ];
    engine = await model.start({ microBatch: { rows: 1 } });
    const loss = { name: 'preference', beta: 0.2 };
    const first = await engine.forwardBackward({ model: 'policy', data, loss });
    expect(first.metrics.passes).toBe(2);
    expect(first.metrics.tokens).toBe(12);
    // By hand, from the returned log-probabilities.
    const ratios = first.logprobs.map((row) => trained(row).reduce((sum, value) => sum + value + 5, 0));
    const margins = [ratios[0] - ratios[1], ratios[3] - ratios[2]].map((gap) => 0.2 * gap);
    const expected = margins.reduce((sum, margin) => sum + 0.6 * Math.log(1 + Math.exp(-margin)), 0);
    expect(first.metrics.loss).toBeCloseTo(expected, 4);
    expect(first.metrics['loss/accuracy']).toBe(margins.filter((margin) => margin > 0).length / 2);
    for (let i = 0; i < 15; i += 1) {
      await step(engine);
      await engine.forwardBackward({ model: 'policy', data, loss });
    }
    const last = await engine.forwardBackward({ model: 'policy', data, loss });
    expect(last.metrics['loss/accuracy']).toBe(1);
    expect(last.metrics.loss).toBeLessThan(first.metrics.loss / 2);
  });

  it('are refused if no component has their name, or the data lack what they read', async () => {
    engine = await model.start();
    const attempt = (loss: { name: string }) =>
      engine!.forwardBackward({ model: 'policy', data: model.lessons(), loss });
    await expect(attempt({ name: 'crossentropy' })).rejects.toThrow(
      /no policy-loss is named "crossentropy".*cross_entropy/,
    );
    await expect(attempt({ name: 'ppo', clip: 1 } as { name: string })).rejects.toMatchObject({
      category: 'request',
      cause: { name: 'PluginError' },
    });
    await expect(attempt({ name: 'ppo' })).rejects.toThrow(
      'datum 0 has no advantages, which the loss ppo reads',
    );
    await expect(attempt({ name: 'preference' })).rejects.toThrow('datum 0 has no reference_logprobs');
  });
});
