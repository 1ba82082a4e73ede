// HEALTHCHECK of the images: exits with 0 if the service in this container answers GET /health.
const url = `http://127.0.0.1:${process.env.HEALTH_PORT}/health`;
try {
  const { ok, status } = await fetch(url, { signal: AbortSignal.timeout(4_000) });
  if (!ok) throw new Error(`it says ${status}`);
} catch (error) {
  console.error(`${url}: ${error.cause?.message ?? error.message}`);
  process.exit(1);
}
