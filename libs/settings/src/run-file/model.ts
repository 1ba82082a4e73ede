import { IsBoolean, IsIn, IsInt, IsNotEmpty, IsString, Min } from 'class-validator';
import { Choice, Doc, Group, Needs, type ComponentChoice } from '@ui-rl/plugin-kit';
import { LoraGroup } from './lora';

export class ModelGroup {
  @Doc(
    'Hugging Face folder of the model (config.json, safetensors, tokenizer, …), or its name on the hub: organisation/name[@revision]',
    { aliases: ['model', 'model_name'] },
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

  @Doc('how the policy writes its actions', { aliases: ['action_format'] })
  @Choice('action-dialect')
  action_format: ComponentChoice = { name: 'json' };

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
