import { defineConfig } from "vite";

// The application of `prony serve`, beside the viewer, which it lets draw: one classic script as well.
export default defineConfig({
  build: {
    outDir: "dist",
    emptyOutDir: false,
    target: "es2022",
    modulePreload: false,
    sourcemap: false,
    rollupOptions: {
      input: "src/serve/main.ts",
      output: { format: "iife", entryFileNames: "serve.js", codeSplitting: false },
    },
  },
});
