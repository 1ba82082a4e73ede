// ONNX Runtime 1.29 and later sends usage telemetry from the moment it is loaded, unless the environment disables it.
// It does not see the copies of the environment in worker threads, so the main thread must also load this module.
process.env.ORT_DISABLE_TELEMETRY ??= '1';
