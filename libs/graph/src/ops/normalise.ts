import { shapeText } from '../dims';
import { GraphError } from '../errors';
import { float } from '../attributes';
import type { Value } from '../graph';
import { axisOf, single } from './build';

/** exp(x) / Σ exp(x) along an axis. */
export function softmax(x: Value, axis = -1): Value {
  return single('Softmax', [x], x.dtype, x.shape, { axis: axisOf(x, axis, 'softmax') });
}

/** log softmax(x) along an axis. */
export function logSoftmax(x: Value, axis = -1): Value {
  return single('LogSoftmax', [x], x.dtype, x.shape, { axis: axisOf(x, axis, 'logSoftmax') });
}

function checkScale(opName: string, x: Value, scale: Value): void {
  if (scale.rank !== 1 || scale.shape[0] !== x.shape[x.rank - 1]) {
    throw new GraphError(
      'build',
      `${opName}: scale "${scale.name}" ${shapeText(scale.shape)} must have the last dimension of ${shapeText(x.shape)}`,
    );
  }
}

/** (x - mean) / √(variance + eps) · scale + bias over the last axis; scale and bias [H]. */
export function layerNorm(x: Value, scale: Value, bias: Value | null, eps: number): Value {
  checkScale('layerNorm', x, scale);
  const statistic = { dtype: x.dtype, shape: [...x.shape.slice(0, -1), 1] };
  const outputs = [{ dtype: x.dtype, shape: x.shape }, statistic, statistic];
  const inputs = bias === null ? [x, scale] : [x, scale, bias];
  return x.graph.node('LayerNormalization', inputs, { axis: -1, epsilon: float(eps) }, outputs)[0];
}

/** x / √(mean(x²) + eps) · scale over the last axis; scale [H]. */
export function rmsNorm(x: Value, scale: Value, eps: number): Value {
  checkScale('rmsNorm', x, scale);
  const statistic = { dtype: x.dtype, shape: [...x.shape.slice(0, -1), 1] };
  const outputs = [{ dtype: x.dtype, shape: x.shape }, statistic];
  const attributes = { axis: -1, epsilon: float(eps), stash_type: 1 };
  return x.graph.node('SimplifiedLayerNormalization', [x, scale], attributes, outputs)[0];
}

/** x / √(mean(x²) + eps) with no scale, over the last axis. */
export function rmsNormUnscaled(x: Value, eps: number): Value {
  const width = x.shape[x.rank - 1];
  if (typeof width !== 'number') {
    throw new GraphError(
      'build',
      `rmsNormUnscaled: the last dimension of ${shapeText(x.shape)} must be a number`,
    );
  }
  return rmsNorm(x, x.graph.constant('float32', [width], new Float32Array(width).fill(1)), eps);
}
