import { defineConfig } from "vite";

// One classic script, so that a page opened from a file can hold it. The same input gives the same bytes: no hashes in
// names, no dates, no source map.
export default defineConfig({
  build: {
    outDir: "dist",
    target: "es2022",
    modulePreload: false,
    sourcemap: false,
    rollupOptions: {
      input: "src/main.ts",
      output: { format: "iife", entryFileNames: "viewer.js", codeSplitting: false },
    },
  },
});
