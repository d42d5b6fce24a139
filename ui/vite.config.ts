// Build and test of the window's front end. Everything ends in one bundle that the desktop program and the HTTP door embed.
import { svelte } from '@sveltejs/vite-plugin-svelte';
import { defineConfig } from 'vitest/config';

export default defineConfig({
  plugins: [svelte()],
  base: './',
  // Tests run the browser build of Svelte; without this Node would get the server build.
  resolve: process.env.VITEST ? { conditions: ['browser'] } : undefined,
  server: { port: 5173, strictPort: true },
  build: { target: ['es2022', 'safari16'], outDir: 'dist', emptyOutDir: true, modulePreload: { polyfill: false } },
  test: {
    environment: 'jsdom',
    include: ['src/**/*.test.ts'],
    setupFiles: ['src/test/setup.ts'],
    restoreMocks: true,
    // Typing into a whole window takes seconds on a busy machine.
    testTimeout: 30_000,
  },
});
