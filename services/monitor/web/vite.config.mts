import { fileURLToPath } from 'node:url';
import { defineConfig, type Plugin } from 'vite';

const here = (path: string) => fileURLToPath(new URL(path, import.meta.url));

/** Lets the browser fetch modules that a page imports dynamically together with its first one. */
const preloadDynamicImports: Plugin = {
  name: 'preload-dynamic-imports',
  transformIndexHtml: (_html, { chunk, bundle = {} }) => {
    const files = new Set<string>();
    const add = (file: string) => {
      const part = bundle[file];
      if (files.has(file) || part?.type !== 'chunk') return;
      files.add(file);
      part.imports.forEach(add);
    };
    chunk?.dynamicImports.forEach(add);
    return [...files]
      .filter((file) => file !== chunk?.fileName)
      .map((file) => ({
        tag: 'link',
        attrs: { rel: 'modulepreload', crossorigin: true, href: `./${file}` },
        injectTo: 'head' as const,
      }));
  },
};

// For development: `npx vite --config services/monitor/web/vite.config.mts`, with a monitor on its default port.
export default defineConfig({
  root: here('.'),
  plugins: [preloadDynamicImports],
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
