import { CreateRecords1763596800000 } from './1763596800000-create-records';
import { TurnsWithSeveralActions1795305600000 } from './1795305600000-turns-with-several-actions';
import { RunsWithConfiguration1795320000000 } from './1795320000000-runs-with-configuration';
import { EvaluationsWithoutRate1795330000000 } from './1795330000000-evaluations-without-rate';
import { TurnsWithPolicySpans1795340000000 } from './1795340000000-turns-with-policy-spans';
import { TurnsWithKeptTokens1795400000000 } from './1795400000000-turns-with-kept-tokens';
import { TrajectoriesWithVerdicts1795420000000 } from './1795420000000-trajectories-with-verdicts';
import { TurnsWithScreenText1795430000000 } from './1795430000000-turns-with-screen-text';
import { TokenView1795440000000 } from './1795440000000-token-view';
import { RunsWithLabels1795450000000 } from './1795450000000-runs-with-labels';
import { TrajectoriesWithFailedChecks1795460000000 } from './1795460000000-trajectories-with-failed-checks';
import { CourseOfEpisodes1795470000000 } from './1795470000000-course-of-episodes';

/** In order; append new ones at the end. */
export const migrations = [
  CreateRecords1763596800000,
  TurnsWithSeveralActions1795305600000,
  RunsWithConfiguration1795320000000,
  EvaluationsWithoutRate1795330000000,
  TurnsWithPolicySpans1795340000000,
  TurnsWithKeptTokens1795400000000,
  TrajectoriesWithVerdicts1795420000000,
  TurnsWithScreenText1795430000000,
  TokenView1795440000000,
  RunsWithLabels1795450000000,
  TrajectoriesWithFailedChecks1795460000000,
  CourseOfEpisodes1795470000000,
];
