import type { ActionDialectComponent } from './action-dialect';
import type { AdvantageComponent } from './advantage';
import type { CorrectionComponent } from './correction';
import type { EngineComponent } from './engine';
import type { EnvironmentComponent } from './environment';
import type { OptimizerComponent } from './optimizer';
import type { PolicyLossComponent } from './policy-loss';
import type { RegularizerComponent } from './regularizer';
import type { RewardComponent } from './reward';
import type { SamplerComponent } from './sampler';
import type { ScheduleComponent } from './schedule';
import type { TaskSourceComponent } from './task-source';
import type { TrackerComponent } from './tracker';
import type { VerifierComponent } from './verifier';

export * from './action-dialect';
export * from './advantage';
export * from '../component-kind';
export * from './component';
export * from './correction';
export * from './engine';
export * from './environment';
export * from './episode';
export * from './optimizer';
export * from './policy-loss';
export * from './regularizer';
export * from './reward';
export * from './sampler';
export * from './schedule';
export * from './task-source';
export * from './tracker';
export * from './verifier';

/** The component type of each kind. */
export interface ComponentsByKind {
  'task-source': TaskSourceComponent;
  verifier: VerifierComponent;
  reward: RewardComponent;
  environment: EnvironmentComponent;
  'action-dialect': ActionDialectComponent;
  advantage: AdvantageComponent;
  'policy-loss': PolicyLossComponent;
  regularizer: RegularizerComponent;
  correction: CorrectionComponent;
  optimizer: OptimizerComponent;
  schedule: ScheduleComponent;
  engine: EngineComponent;
  sampler: SamplerComponent;
  tracker: TrackerComponent;
}

export type Component = ComponentsByKind[keyof ComponentsByKind];
