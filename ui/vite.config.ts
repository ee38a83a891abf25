import { svelte } from '@sveltejs/vite-plugin-svelte'
import { defineConfig } from 'vitest/config'
import { CSP } from './csp.ts'

/**
 * Two builds of one source. The default one goes into the desktop app and talks to the engine only.
 * `--mode browser` adds the pretend engine of `src/lib/backend/fake`, for tests, screenshots and
 * work on the UI in a plain browser; it never ships.
 */
export default defineConfig(({ mode }) => {
  const shipped = mode === 'production'
  return {
    plugins: [svelte()],
    define: { __PRETEND_ENGINE__: JSON.stringify(!shipped) },
    // Vitest must load Svelte's client half, or components can't mount.
    resolve: {
      alias: { $lib: new URL('./src/lib', import.meta.url).pathname },
      ...(process.env.VITEST ? { conditions: ['browser'] } : {}),
    },
    build: {
      outDir: shipped ? 'dist' : 'dist-browser',
      target: ['safari16.4', 'chrome111'],
      // Inlined fonts would need a wider policy; the polyfill would inject a script.
      assetsInlineLimit: 0,
      modulePreload: { polyfill: false },
      reportCompressedSize: false,
    },
    preview: { headers: { 'Content-Security-Policy': CSP }, host: '127.0.0.1', port: 4173, strictPort: true },
    server: { host: '127.0.0.1', port: 5173, strictPort: true },
    test: {
      include: ['src/**/*.test.ts', 'tests/unit/**/*.test.ts'],
      environment: 'node',
      restoreMocks: true,
    },
  }
})
