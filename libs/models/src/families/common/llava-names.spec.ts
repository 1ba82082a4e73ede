import { namesInFiles } from './names-in-files';
import { llavaCheckpointName } from './llava-names';

test.each([
  [
    'model.vision_tower.encoder.layers.0.mlp.fc1.bias',
    'vision_tower.vision_model.encoder.layers.0.mlp.fc1.bias',
    'vision_tower.encoder.layers.0.mlp.fc1.bias',
    'model.vision_tower.vision_model.encoder.layers.0.mlp.fc1.bias',
  ],
  ['model.language_model.norm.weight', 'language_model.model.norm.weight', 'language_model.norm.weight'],
  ['lm_head.weight', 'language_model.lm_head.weight'],
  ['model.multi_modal_projector.linear_1.weight', 'multi_modal_projector.linear_1.weight'],
  ['model.image_newline', 'image_newline'],
])('%s is known by every name that it has had', (name, ...others) => {
  expect(namesInFiles(name, llavaCheckpointName)).toEqual([name, ...others]);
});
