import { IsBoolean, Min } from 'class-validator';
import {
  Above,
  Below,
  Doc,
  Fits,
  type OptimizedWeight,
  type OptimizerComponent,
  type OptimizerStep,
} from '@ui-rl/plugin-kit';
import { adamw, AdamWOptions } from './adamw';
import { orthogonalized } from './newton-schulz';

export class MuonOptions extends AdamWOptions {
  @Doc('momentum coefficient of matrices')
  @Min(0)
  @Below(1)
  momentum = 0.95;

  @Doc('Nesterov momentum')
  @IsBoolean()
  nesterov = true;

  @Doc('regular expression for names of matrices that AdamW updates, too')
  @Fits('a regular expression', isRegularExpression)
  adamw_weights = 'embed_tokens|lm_head|value_head';

  @Doc('learning rate of AdamW, as a multiple of that of matrices')
  @Above(0)
  adamw_rate = 1;
}

/**
 * Muon (Jordan 2024, kellerjordan.github.io/posts/muon): the update of a matrix is its momentum, orthogonalized by
 * Newton-Schulz steps, times max(1, rows / columns)^½. AdamW updates all other weights. Runs on the host.
 */
export const muon: OptimizerComponent<MuonOptions> = {
  kind: 'optimizer',
  name: 'muon',
  description: 'Muon (orthogonalized momentum) for matrices; AdamW for everything else.',
  options: MuonOptions,
  conflicts: ({ momentum, nesterov }) =>
    nesterov && momentum === 0
      ? ['nesterov would have no effect: it needs a momentum above 0, or false']
      : [],
  create: (options) => {
    const others = adamw.create(options, {});
    const isOther = new RegExp(options.adamw_weights);
    const isMatrix = ({ name, shape }: Pick<OptimizedWeight, 'name' | 'shape'>): boolean =>
      shape.length === 2 && !isOther.test(name);
    return {
      state: (weight) => (isMatrix(weight) ? ['momentum_buffer'] : ['exp_avg', 'exp_avg_sq']),
      appliesGradientScale: true,
      update: (weight, step) => {
        if (isMatrix(weight)) updateMatrix(options, weight, step);
        else others.update(weight, { ...step, learningRate: step.learningRate * options.adamw_rate });
      },
    };
  },
};

function updateMatrix(
  { momentum, nesterov, weight_decay }: MuonOptions,
  { weight, gradient, state, shape: [rows, columns] }: OptimizedWeight,
  { learningRate, gradientScale }: OptimizerStep,
): void {
  const { momentum_buffer: buffer } = state;
  const direction = new Float64Array(weight.length);
  for (let i = 0; i < weight.length; i += 1) {
    const slope = gradient[i] * gradientScale;
    const kept = momentum * buffer[i] + slope;
    buffer[i] = kept;
    direction[i] = nesterov ? slope + momentum * kept : kept;
  }
  const { data } = orthogonalized({ rows, columns, data: direction });
  const rate = learningRate * Math.sqrt(Math.max(1, rows / columns));
  const keep = 1 - learningRate * weight_decay;
  for (let i = 0; i < weight.length; i += 1) weight[i] = weight[i] * keep - rate * data[i];
}

function isRegularExpression(value: unknown): boolean {
  if (typeof value !== 'string' || value === '') return false;
  try {
    return new RegExp(value) instanceof RegExp;
  } catch {
    return false;
  }
}
