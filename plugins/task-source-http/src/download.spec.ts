import { linkedNext } from './download';

it('finds the next page in a header, and gives one of many brackets up in time', () => {
  const next = (link: string | string[]) => linkedNext({ headers: { link } });
  expect(next('<https://a/?page=1>; rel="prev", <https://a/?page=3>; rel="next"')).toBe('https://a/?page=3');
  expect(next(['<https://a/1>; rel=prev', '<https://a/2>; rel=next'])).toBe('https://a/2');
  expect(next('<https://a/1>; rel="last"')).toBeUndefined();
  const began = performance.now();
  expect(next('<'.repeat(65_536))).toBeUndefined();
  expect(performance.now() - began).toBeLessThan(3_000);
});
