import { IsInt, IsNumber, Min } from 'class-validator';
import { Above, Choice, Doc, Group, type ComponentChoice } from '@ui-rl/plugin-kit';
import { LayerTargets } from './lora';

/**
 * The critic's adapter options that can differ from the policy's. Without dropout, because values must be the same in
 * every pass.
 */
export class CriticLoraGroup {
  @Doc('rank of the adapter of the critic')
  @IsInt()
  @Min(1)
  rank = 16;

  @Doc('LoRA α of the critic: its adapter is scaled by alpha / rank')
  @Above(0)
  alpha = 32;

  @Doc('linear layers with an adapter of the critic')
  @LayerTargets()
  targets: string | string[] = 'all-linear';
}

/** Only for algorithms that use values. */
export class CriticGroup {
  @Doc('learning rate of the critic, the same in all steps')
  @Above(0)
  learning_rate = 1e-4;

  @Doc('loss of the critic')
  @Choice('policy-loss')
  loss: ComponentChoice = { name: 'value' };

  @Doc('optimizer of the critic')
  @Choice('optimizer')
  optimizer: ComponentChoice = { name: 'adamw' };

  @Doc('maximum gradient norm of the critic; 0 = no clipping')
  @IsNumber()
  @Min(0)
  max_grad_norm = 1;

  @Doc('number of initial steps that train the critic alone')
  @IsInt()
  @Min(0)
  warmup_steps = 0;

  @Doc('adapter of the critic, which also has a head; used even if the policy trains all weights')
  @Group(() => CriticLoraGroup)
  lora: CriticLoraGroup;
}
