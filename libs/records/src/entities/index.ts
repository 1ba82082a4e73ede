import { CheckpointEntity } from './checkpoint.entity';
import { EvaluationEntity, EvaluationTaskEntity } from './evaluation.entity';
import { EventEntity, RolloutStartEntity } from './event.entity';
import { RunEntity } from './run.entity';
import { StepEntity } from './step.entity';
import { TrainedEpisodeEntity } from './trained-episode.entity';
import { TrajectoryEntity } from './trajectory.entity';
import { TurnEntity } from './turn.entity';

export {
  CheckpointEntity,
  EvaluationEntity,
  EvaluationTaskEntity,
  EventEntity,
  RolloutStartEntity,
  RunEntity,
  StepEntity,
  TrainedEpisodeEntity,
  TrajectoryEntity,
  TurnEntity,
};

export const entities = [
  RunEntity,
  TrajectoryEntity,
  TurnEntity,
  StepEntity,
  TrainedEpisodeEntity,
  EvaluationEntity,
  EvaluationTaskEntity,
  CheckpointEntity,
  EventEntity,
  RolloutStartEntity,
];
