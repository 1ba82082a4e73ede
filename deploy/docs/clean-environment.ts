/** The help of the command line shows what its environment says; the reference shows what stands there without one. */
for (const name of Object.keys(process.env)) {
  if (/^(UIRL_|NATS_|MONITOR_|HF_|CHROMIUM_|XDG_|OTEL_)/.test(name)) delete process.env[name];
}
