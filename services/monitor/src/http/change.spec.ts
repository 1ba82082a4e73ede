import * as fc from 'fast-check';
import { applyChange, changeBetween } from './change';

const sent = <T>(value: T): T => JSON.parse(JSON.stringify(value)) as T;

test('a change, sent as JSON, turns the old value into the new one', () => {
  fc.assert(
    fc.property(fc.jsonValue(), fc.jsonValue(), (a, b) => {
      const [old, next] = [sent(a), sent(b)];
      expect(applyChange(old, sent(changeBetween(old, next)))).toEqual(next);
    }),
  );
});

test('a change between lists of the same few things is exact, too', () => {
  const things = fc.array(fc.constantFrom<unknown>(0, 1, null, 'a', '0', [], {}, { a: 1 }, [0]));
  fc.assert(
    fc.property(things, things, (old, next) => {
      expect(applyChange(old, sent(changeBetween(old, next)))).toEqual(next);
    }),
  );
});

test('equal values have no change', () => {
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      expect(changeBetween(sent(value), sent(value))).toBeNull();
    }),
  );
});

test('a longer curve and a moved list are sent as what is new', () => {
  const curve = Array.from({ length: 1_000 }, (_, step) => step / 7);
  expect(changeBetween({ curve }, { curve: [...curve, 5] })).toEqual({
    fields: { curve: { parts: [{ from: 0, count: 1_000 }, { items: [5] }] } },
    removed: [],
  });
  const rows = Array.from({ length: 50 }, (_, index) => ({ id: index }));
  expect(changeBetween(rows, [{ id: 50 }, ...rows.slice(0, 49)])).toEqual({
    parts: [{ items: [{ id: 50 }] }, { from: 0, count: 49 }],
  });
});

test('unchanged values stay the same objects, and special names are names like others', () => {
  const old = sent({ kept: { a: [1] }, ['__proto__']: 1 });
  const next = JSON.parse('{"kept": {"a": [1]}, "__proto__": {"x": 2}, "constructor": 3}') as unknown;
  const made = applyChange(old, sent(changeBetween(old, next)));
  expect(JSON.stringify(made)).toBe(JSON.stringify(next));
  expect((made as typeof old).kept).toBe(old.kept);
});
