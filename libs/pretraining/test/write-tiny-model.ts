import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  initializeWeights,
  loadFamily,
  loadModelFolder,
  type ModelFolder,
  saveModelFolder,
} from '@ui-rl/models';
import { generalModelConfig, generalTokenizer } from '../src/general-model';

/** The smallest possible model with the architecture of the general small model. */
export async function writeTinyModel(dir: string): Promise<ModelFolder> {
  const tokenizer = generalTokenizer();
  const config = generalModelConfig(tokenizer.vocabulary);
  const text = { hidden_size: 16, intermediate_size: 32, num_hidden_layers: 1, num_attention_heads: 2 };
  Object.assign(config.text_config as object, { ...text, num_key_value_heads: 2 });
  const vision = { depth: 1, hidden_size: 8, intermediate_size: 16, num_heads: 1, out_hidden_size: 16 };
  Object.assign(config.vision_config as object, { ...vision, num_position_embeddings: 16 });
  for (const [name, content] of Object.entries(tokenizer.files)) writeFileSync(join(dir, name), content);
  writeFileSync(join(dir, 'config.json'), JSON.stringify(config));
  const tensors = initializeWeights(await loadFamily(dir), 3);
  await saveModelFolder(dir, { config, tensors, filesFrom: dir });
  return loadModelFolder(dir);
}
