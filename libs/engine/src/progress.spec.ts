import { shareReporter } from './progress';

test('reports long work every two seconds, short work not at all', () => {
  let now = 0;
  const clock = jest.spyOn(performance, 'now').mockImplementation(() => now);
  const lines: string[] = [];
  const progress = shareReporter((line) => lines.push(line), 'a copy is made');
  for (let step = 0; step <= 10; step += 1) {
    now = step * 500;
    progress(step / 10);
  }
  clock.mockRestore();
  expect(lines).toEqual(['a copy is made: 40 %', 'a copy is made: 80 %']);
});
