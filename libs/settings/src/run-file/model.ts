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

  @Doc('the adapter')
  @Group(() => LoraGroup)
  @Needs('use_lora', true)
  lora: LoraGroup;

  @Doc(
    'checkpoint of another run, or folder of an adapter, whose weights this one begins with; its optimizer starts anew',
  )
  @IsOptional()
  @LocalFile({ kind: 'folder', checkpoints: true })
  load_checkpoint?: string;

  @Doc('how the policy writes its actions')
  @Choice('action-dialect')
  action_format: ComponentChoice = { name: 'json' };

  @Doc(
    'name of the renderer that messages are expected to go through; a model with another one is refused; default: whichever the model has',
  )
  @IsOptional()
  @IsString()
  @IsNotEmpty()
  renderer_name?: string;

  @Doc(
    'reasoning before each answer (`enable_thinking` of the chat template); a model whose template has no such variable is refused; default: that of the template',
  )
  @IsOptional()
  @IsBoolean()
  thinking?: boolean;

  @Doc('full explains the actions; compact gives only the goal, for models trained on it')
  @IsIn(['full', 'compact'])
  prompt: 'full' | 'compact' = 'full';

  @Doc('turns the policy reads, the present one included')
  @IsInt()
  @Min(1)
  history_turns = 1;

  @Doc('longest sequence in tokens, prompt and answer together')
  @IsInt()
  @Min(16)
  max_sequence = 4096;
}
