import './no-telemetry';
import { Tensor } from 'onnxruntime-node';

export { InferenceSession, Tensor } from 'onnxruntime-node';

/**
 * At its first tensor, ONNX Runtime chooses the array that holds float16 data: `Float16Array` where it exists (Node 24).
 * The Node binding reads only `Uint16Array`, so the choice is made without the other one.
 */
function holdHalvesInUint16Array(): void {
  const own = Object.getOwnPropertyDescriptor(globalThis, 'Float16Array');
  if (own === undefined) return;
  Reflect.deleteProperty(globalThis, 'Float16Array');
  // Only for the choice.
  void new Tensor('float32', [0]);
  Object.defineProperty(globalThis, 'Float16Array', own);
}

holdHalvesInUint16Array();
