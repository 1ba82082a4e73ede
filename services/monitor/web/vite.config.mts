import { fileURLToPath } from 'node:url';
import react from '@vitejs/plugin-react';
import { defineConfig } from 'vite';

const here = (path: string) => fileURLToPath(new URL(path, import.meta.url));

// For development: `npx vite --config services/monitor/web/vite.config.mts`, with a monitor on its default port.
export default defineConfig({
  root: here('.'),
  plugins: [react()],
  // The path of the live page of `ui-rl try` starts with a token.
  base: './',
  build: {
    outDir: here('../../../dist/monitor-web'),
    emptyOutDir: true,
    assetsInlineLimit: 0,
    rolldownOptions: {
      input: [here('index.html'), here('try.html')],
      // Its warnings depend on the load of the machine.
      checks: { pluginTimings: false },
    },
  },
  server: { proxy: { '/api': 'http://127.0.0.1:8080' } },
});
