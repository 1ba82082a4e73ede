// ONNX Runtime 1.29 and later reports its use to its makers, from when it is loaded on, unless the environment forbids it. Worker
// threads have copies of the environment, which it does not see: the main thread must load this, too.
process.env.ORT_DISABLE_TELEMETRY ??= '1';
