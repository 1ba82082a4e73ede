import { IsBoolean, IsIn, IsInt, IsNotEmpty, IsOptional, IsString, Min } from 'class-validator';
import { Choice, Doc, Group, LocalFile, Needs, type ComponentChoice } from '@ui-rl/plugin-kit';
import { LoraGroup } from './lora';

export class ModelGroup {
  @Doc(
    'the model: organisation/name[@revision] on the hub, or a name of UIRL_MODELS; services that end with the run take a Hugging Face folder, too',
  )
  @IsString()
  @IsNotEmpty()
  name: string;

  @Doc('train a LoRA adapter; false trains all weights')
  @IsBoolean()
  use_lora = true;

  @Doc('LoRA adapter')
  @Group(() => LoraGroup)
  @Needs('use_lora', true)
  lora: LoraGroup;

  @Doc(
    'checkpoint of another run, or folder of an adapter, with the initial weights; the optimizer starts fresh',
  )
  @IsOptional()
  @LocalFile({ kind: 'folder', checkpoints: true })
  load_checkpoint?: string;

  @Doc('action format')
  @Choice('action-dialect')
  action_format: ComponentChoice = { name: 'json' };

  @Doc('expected renderer; ui-rl refuses a model with another one; default: that of the model')
  @IsOptional()
  @IsString()
  @IsNotEmpty()
  renderer_name?: string;

  @Doc(
    'reasoning before each answer (`enable_thinking` of the chat template); ui-rl refuses a model whose template has no such variable; default: that of the template',
  )
  @IsOptional()
  @IsBoolean()
  thinking?: boolean;

  @Doc('full explains the actions; compact gives only the goal, for models trained on it')
  @IsIn(['full', 'compact'])
  prompt: 'full' | 'compact' = 'full';

  @Doc(
    'number of turns in a prompt, including the current one; default: 1, or all with rollout.history_screenshots',
  )
  @IsOptional()
  @IsInt()
  @Min(1)
  history_turns?: number;

  @Doc('maximum sequence length in tokens, prompt and answer together')
  @IsInt()
  @Min(16)
  max_sequence = 4096;
}
