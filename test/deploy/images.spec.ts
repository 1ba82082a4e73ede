import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const DEPLOY = join(__dirname, '../../deploy');
const IMAGE = /docker\.io\/[\w./-]+:[\w.-]+[\w@:]*/g;

const images = readdirSync(DEPLOY, { recursive: true, encoding: 'utf8' })
  .filter((path) => /(^|\/)Containerfile$|\.yaml$/.test(path))
  .flatMap((path) => readFileSync(join(DEPLOY, path), 'utf8').match(IMAGE) ?? []);

it('images of others are pinned by digest, and by the same one everywhere', () => {
  expect(images.length).toBeGreaterThan(4);
  for (const image of images) expect(image).toMatch(/@sha256:[0-9a-f]{64}$/);
  const names = new Set(images.map((image) => image.split(':')[0]));
  expect(new Set(images).size).toBe(names.size);
});
