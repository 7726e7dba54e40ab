import { readFileSync } from "node:fs";
import { defineConfig, type Plugin } from "vite";

/** What ends up in the bundle beside our own code. */
const PARTS = [
  { name: "echarts", licences: ["LICENSE", "licenses/LICENSE-d3"], notice: "NOTICE" },
  { name: "zrender", licences: ["LICENSE"] },
  { name: "tslib", licences: ["LICENSE.txt"] },
];

/** Writes the licences of the bundled parts beside the bundle; the report shows them. */
function thirdParty(): Plugin {
  const read = (name: string, file: string) => readFileSync(`node_modules/${name}/${file}`, "utf8").trim();
  const rule = "=".repeat(100);
  const texts = PARTS.map(({ name, licences, notice }) => {
    const { version, license } = JSON.parse(read(name, "package.json")) as { version: string; license: string };
    const files = [...(notice ? [notice] : []), ...licences];
    return [`${rule}\n${name} ${version} (${license})\n${rule}`, ...files.map((file) => read(name, file))].join("\n\n");
  });
  return {
    name: "third-party",
    generateBundle() {
      this.emitFile({ type: "asset", fileName: "THIRD-PARTY.txt", source: `${texts.join("\n\n")}\n` });
    },
  };
}

// One classic script, so that a page opened from a file can hold it. The same input gives the same bytes: no hashes in
// names, no dates, no source map.
export default defineConfig({
  plugins: [thirdParty()],
  build: {
    outDir: "dist",
    target: "es2022",
    modulePreload: false,
    sourcemap: false,
    chunkSizeWarningLimit: 700,
    rollupOptions: {
      input: "src/main.ts",
      output: { format: "iife", entryFileNames: "viewer.js", codeSplitting: false },
    },
  },
});
