/** The command line's help shows values from the environment; the reference must show the defaults. */
for (const name of Object.keys(process.env)) {
  if (/^(UIRL_|NATS_|MONITOR_|HF_|CHROMIUM_|XDG_|OTEL_)/.test(name)) delete process.env[name];
}
