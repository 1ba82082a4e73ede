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

  @Doc('the adapter of the critic is scaled by alpha / rank')
  @Above(0)
  alpha = 32;

  @Doc('linear layers in which the critic has an adapter')
  @LayerTargets()
  targets: string | string[] = 'all-linear';
}

/** Only for algorithms that use values. */
export class CriticGroup {
  @Doc('learning rate of the critic, in all steps')
  @Above(0)
  learning_rate = 1e-4;

  @Doc('what the critic minimizes')
  @Choice('policy-loss')
  loss: ComponentChoice = { name: 'value' };

  @Doc('how gradients change the critic')
  @Choice('optimizer')
  optimizer: ComponentChoice = { name: 'adamw' };

  @Doc('gradients of the critic are scaled down to this norm; 0 = never')
  @IsNumber()
  @Min(0)
  max_grad_norm = 1;

  @Doc('steps at the beginning of a run in which the critic alone is trained')
  @IsInt()
  @Min(0)
  warmup_steps = 0;

  @Doc('the adapter that the critic is, with its head; also where the policy trains all weights')
  @Group(() => CriticLoraGroup)
  lora: CriticLoraGroup;
}
