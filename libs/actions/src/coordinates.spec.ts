import * as fc from 'fast-check';
import { Axis, axesOf, COORDINATE_SPACES, describeCoordinates, type CoordinateSpace } from './coordinates';

const axis = (space: CoordinateSpace, pixels: number, modelPixels = pixels): Axis =>
  Axis.of(
    space,
    { screenshot: { width: pixels, height: 1 }, modelImage: { width: modelPixels, height: 1 } },
    'width',
  );

/** Small ones, those of screens, and neighbours of sensitive divisors. */
const SIDES = [1, 2, 3, 7, 160, 333, 499, 500, 501, 720, 998, 999, 1000, 1001, 1080, 1280, 1920, 4096];
const MODEL_SIDES = [28, 112, 308, 812, 1008, 1288, 4088];

describe('each pixel of the screenshot', () => {
  it.each(SIDES.flatMap((side) => COORDINATE_SPACES.map((space) => [side, space] as const)))(
    'of %i in %s is read as itself, or as the nearest that can be written',
    (side, space) => {
      for (const modelSide of space === 'model_image' ? MODEL_SIDES : [side]) {
        const each = axis(space, side, modelSide);
        const numbers = space === 'relative_1' ? Infinity : space.startsWith('r') ? each.max : each.max + 1;
        // Half of the distance between two numbers; 0 if there is a number for each pixel.
        const most = numbers >= side ? 0 : Math.ceil(side / numbers / 2);
        let worst = 0;
        for (let pixel = 0; pixel < side; pixel += 1) {
          const written = each.write(pixel);
          if (!(written >= 0 && written <= each.max)) throw new Error(`${pixel} of ${side} is ${written}`);
          const off = Math.abs(each.read(written) - pixel);
          worst = Math.max(worst, off);
        }
        expect({ side, modelSide, isExact: worst <= most }).toEqual({ side, modelSide, isExact: true });
      }
    },
  );
});

it('gives back each pixel of the model image where the screenshot is larger', () => {
  for (const side of SIDES) {
    for (const modelSide of MODEL_SIDES.filter((each) => each <= side)) {
      const each = axis('model_image', side, modelSide);
      const pixels = Array.from({ length: modelSide }, (_, pixel) => pixel);
      expect(pixels.filter((pixel) => each.write(each.read(pixel)) !== pixel)).toEqual([]);
    }
  }
});

it.each<[CoordinateSpace, number, number, number, number]>([
  ['screenshot', 1280, 1288, 640, 640],
  // The left half of the image is the left half of the screenshot.
  ['model_image', 1280, 640, 319, 639],
  ['model_image', 1280, 640, 320, 641],
  // As in the reference client of Gemini: int(x / 1000 * width), github.com/google-gemini/computer-use-preview
  // agent.py
  ['relative_1000', 1440, 1440, 500, 720],
  ['relative_1000', 1440, 1440, 1, 1],
  ['relative_1000', 1440, 1440, 999, 1438],
  ['relative_1000', 1440, 1440, 1000, 1439],
  ['relative_999', 1280, 1280, 999, 1279],
  ['relative_999', 999, 999, 998, 998],
  // In binary 0.29 × 100 is 28.999999999999996.
  ['relative_1', 100, 100, 0.29, 29],
  ['relative_1', 1000, 1000, 1, 999],
])('%s on %i pixels (%i of the model) reads %d as %i', (space, side, modelSide, written, pixel) => {
  expect(axis(space, side, modelSide).read(written)).toBe(pixel);
});

it('reads any number of the space as a pixel of the screenshot, in order', () => {
  fc.assert(
    fc.property(
      fc.constantFrom(...COORDINATE_SPACES),
      fc.integer({ min: 1, max: 5000 }),
      fc.integer({ min: 28, max: 5000 }),
      fc.tuple(fc.double({ min: 0, max: 1, noNaN: true }), fc.double({ min: 0, max: 1, noNaN: true })),
      (space, side, modelSide, parts) => {
        const each = axis(space, side, modelSide);
        const [low, high] = parts.toSorted((a, b) => a - b).map((part) => each.read(part * each.max));
        expect(low).toBeGreaterThanOrEqual(0);
        expect(high).toBeLessThan(side);
        expect(low).toBeLessThanOrEqual(high);
      },
    ),
    { numRuns: 1000 },
  );
});

it.each([-1, 1280, 0.5, Number.NaN])('writes no pixel %d of 1280', (pixel) => {
  expect(() => axis('relative_1000', 1280).write(pixel)).toThrow(RangeError);
});

it('tells a model what its numbers mean', () => {
  const sizes = { screenshot: { width: 1280, height: 800 }, modelImage: { width: 1288, height: 812 } };
  const told = (space: CoordinateSpace) => describeCoordinates(space, axesOf(space, sizes));
  expect(told('screenshot')).toContain('x from 0 to 1279 and y from 0 to 799');
  expect(told('model_image')).toContain('x from 0 to 1287 and y from 0 to 811');
  expect(told('relative_1000')).toContain('to 1000 (right edge)');
  expect(told('relative_1')).toContain('to 1 (right edge)');
});
