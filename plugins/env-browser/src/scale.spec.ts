import { inCssPixels } from './scale';

it.each([
  [
    { action: 'click', x: 30, y: 45 },
    { action: 'click', x: 20, y: 30 },
  ],
  [
    { action: 'drag', from: [3, 6], to: [9, 12] },
    { action: 'drag', from: [2, 4], to: [6, 8] },
  ],
  [
    { action: 'swipe', direction: 'up', distance: 30, x: 3, y: 3 },
    { action: 'swipe', direction: 'up', distance: 20, x: 2, y: 2 },
  ],
  [
    { action: 'scroll', direction: 'down', amount: 3 },
    { action: 'scroll', direction: 'down', amount: 3 },
  ],
  [
    { action: 'type', text: '15' },
    { action: 'type', text: '15' },
  ],
] as const)('%j on a screenshot of 1.5 times the size is %j on the page', (shown, inPage) => {
  expect(inCssPixels(structuredClone(shown) as never, 1.5)).toEqual(inPage);
  expect(inCssPixels(shown as never, 1)).toBe(shown);
});
