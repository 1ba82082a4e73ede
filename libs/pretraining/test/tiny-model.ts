import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ModelFolder } from '@ui-rl/models';
import { writeTinyModel } from './write-tiny-model';

const dir = mkdtempSync(join(tmpdir(), 'tiny-model-'));
afterAll(() => rmSync(dir, { recursive: true, force: true }));

/** A tiny model whose folder is deleted after the file's tests. */
export function tinyModel(): Promise<ModelFolder> {
  return writeTinyModel(dir);
}
