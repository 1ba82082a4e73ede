import { rewriteJson } from './rewrite-json';

test('numbers keep their spelling when other values change', () => {
  const text =
    '{"a": 1.0, "b": [1e-05, -2.50, 3, 0.5], "c": {"d": "1.0 \\"2.0\\" \\\\"}, "dtype": "bfloat16", "e": 1E6}';
  const rewritten = rewriteJson(text, (json) => ({ ...json, dtype: 'float32' }));
  expect(rewritten.replaceAll(/\s+/g, ' ')).toBe(
    '{ "a": 1.0, "b": [ 1e-05, -2.50, 3, 0.5 ], "c": { "d": "1.0 \\"2.0\\" \\\\" }, "dtype": "float32", "e": 1E6 } ',
  );
});

test('refuses a text that is not JSON', () => {
  expect(() => rewriteJson('{"a": }', (json) => json)).toThrow(SyntaxError);
});
