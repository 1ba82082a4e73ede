import { METRICS, metricInfo } from './metrics';

describe('the catalogue of metrics', () => {
  it('names each metric once', () => {
    const names = METRICS.map(({ name }) => name);
    expect(new Set(names).size).toBe(names.length);
  });

  it('finds a metric by its name, and by a pattern where there is no such name', () => {
    expect(metricInfo('env/all/reward/total')?.meaning).toMatch(/return/);
    expect(metricInfo('env/all/reward/speed')?.name).toBe('env/all/reward/<part>');
    expect(metricInfo('advantage/spread')?.name).toBe('advantage/<name>');
    expect(metricInfo('test/eval_goals/env/all/success')?.name).toBe('test/<set>/<metric>');
  });

  it('knows nothing of others', () => {
    expect(metricInfo('env/all/rewards')).toBeUndefined();
    expect(metricInfo('advantage/')).toBeUndefined();
    expect(metricInfo('test/eval_goals')).toBeUndefined();
  });
});
