import { IsOptional } from 'class-validator';
import { Above, Doc, type RegularizerComponent } from '@ui-rl/plugin-kit';

export class EntropyOptions {
  @Doc('coefficient of the entropy of a token')
  @Above(0)
  coef = 0.001;

  @Doc('entropy in nats above which a token gets no bonus; default: none')
  @IsOptional()
  @Above(0)
  floor?: number;
}

/** −coef · H per token, H the entropy of the whole distribution; with a floor −coef · min(H, floor). */
export const entropy: RegularizerComponent<EntropyOptions> = {
  kind: 'regularizer',
  name: 'entropy',
  description: 'An entropy bonus, so that the policy keeps exploring; with a floor, only below it.',
  options: EntropyOptions,
  inputs: [],
  create: ({ coef, floor }) => ({
    build({ ops, entropy: entropies }) {
      const own = entropies();
      if (floor === undefined) return { loss: ops.mul(own, -coef) };
      return {
        loss: ops.mul(ops.min(own, floor), -coef),
        metrics: { below_floor: ops.cast(ops.less(own, floor), 'float32') },
      };
    },
  }),
};
