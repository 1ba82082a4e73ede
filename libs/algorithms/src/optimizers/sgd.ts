import { IsBoolean, Min } from 'class-validator';
import { Below, Doc, PluginError, type Optimizer, type OptimizerComponent } from '@ui-rl/plugin-kit';

export class SgdOptions {
  @Doc('momentum coefficient')
  @Min(0)
  @Below(1)
  momentum = 0;

  @Doc('Nesterov momentum; needs momentum')
  @IsBoolean()
  nesterov = false;

  @Doc('L2 weight decay, a multiple of the weights added to their gradients')
  @Min(0)
  weight_decay = 0;
}

/** Stochastic gradient descent with momentum; formulas and state names as in torch.optim.SGD (dampening 0). */
export const sgd: OptimizerComponent<SgdOptions> = {
  kind: 'optimizer',
  name: 'sgd',
  description: 'Stochastic gradient descent, with optional momentum.',
  options: SgdOptions,
  create: (options) => {
    if (options.nesterov && options.momentum === 0) {
      throw new PluginError('option', 'sgd: nesterov needs a momentum above 0');
    }
    return {
      state: options.momentum === 0 ? [] : ['momentum_buffer'],
      appliesGradientScale: true,
      update: updateWith(options),
      build: buildWith(options),
    };
  },
};

function updateWith({ momentum, nesterov, weight_decay }: SgdOptions): Optimizer['update'] {
  return ({ weight, gradient, state }, { learningRate, gradientScale }) => {
    const buffer = state.momentum_buffer;
    for (let i = 0; i < weight.length; i += 1) {
      let direction = gradient[i] * gradientScale + weight_decay * weight[i];
      if (momentum > 0) {
        const kept = momentum * buffer[i] + direction;
        buffer[i] = kept;
        direction = nesterov ? direction + momentum * kept : kept;
      }
      weight[i] -= learningRate * direction;
    }
  };
}

function buildWith({ momentum, nesterov, weight_decay }: SgdOptions): NonNullable<Optimizer['build']> {
  type Built = ReturnType<NonNullable<Optimizer['build']>>;
  return ({ weight, gradient, state }, { learningRate }, { ops }): Built => {
    const slope = ops.add(gradient, ops.mul(weight, weight_decay));
    const moved = (direction: typeof weight): typeof weight =>
      ops.sub(weight, ops.mul(direction, learningRate));
    if (momentum === 0) return { weight: moved(slope), state: {} };
    const buffer = ops.add(ops.mul(state.momentum_buffer, momentum), slope);
    const direction = nesterov ? ops.add(slope, ops.mul(buffer, momentum)) : buffer;
    return { weight: moved(direction), state: { momentum_buffer: buffer } };
  };
}
