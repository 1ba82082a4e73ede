import * as fc from 'fast-check';
import { zoomRegion } from './zoom';

const screen = { width: 1280, height: 800 };

it.each([
  [[0, 0], [640, 400], { x: 0, y: 0, width: 640, height: 400 }],
  // Wider than the screen: as much above as below.
  [[100, 300], [740, 340], { x: 100, y: 120, width: 640, height: 400 }],
  // In any order, and no smaller than a tenth.
  [[700, 500], [690, 490], { x: 631, y: 455, width: 128, height: 80 }],
  // At the edges, the region is moved onto the screen.
  [[1270, 790], [1279, 799], { x: 1152, y: 720, width: 128, height: 80 }],
  [[0, 0], [1279, 799], { x: 0, y: 0, width: 1279, height: 799.375 }],
] as const)('a zoom from %j to %j shows %j', (from, to, region) => {
  expect(zoomRegion({ from, to }, screen)).toEqual(region);
});

it('contains its corners and lies on the screen, for any of them', () => {
  const side = fc.integer({ min: 16, max: 4096 });
  fc.assert(
    fc.property(
      side,
      side,
      fc.array(fc.nat(), { minLength: 4, maxLength: 4 }),
      (width, height, [a, b, c, d]) => {
        const [from, to] = [[a % width, b % height] as const, [c % width, d % height] as const];
        const region = zoomRegion({ from, to }, { width, height });
        expect(region.width / region.height).toBeCloseTo(width / height, 6);
        for (const [x, y] of [from, to]) {
          expect(x).toBeGreaterThanOrEqual(region.x - 1e-6);
          expect(y).toBeGreaterThanOrEqual(region.y - 1e-6);
          expect(x).toBeLessThanOrEqual(region.x + region.width + 1e-6);
          expect(y).toBeLessThanOrEqual(region.y + region.height + 1e-6);
        }
        expect(Math.min(region.x, region.y)).toBeGreaterThanOrEqual(0);
        expect(region.x + region.width).toBeLessThanOrEqual(width + 1e-6);
        expect(region.y + region.height).toBeLessThanOrEqual(height + 1e-6);
      },
    ),
  );
});
