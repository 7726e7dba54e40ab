// Writes src/report.ts, the types of what the viewer reads, from the JSON schema that Prony itself makes of its report
// (schemas/report.json). `--check` compares instead, and writes nothing.
import { readFileSync, writeFileSync } from "node:fs";
import { compile } from "json-schema-to-typescript";

const SOURCE = new URL("../schemas/report.json", import.meta.url);
const TARGET = new URL("src/report.ts", import.meta.url);

/** The newer words of a schema that the generator does not know, in those that it does. */
function known(part) {
  if (Array.isArray(part)) return part.map(known);
  if (part === null || typeof part !== "object") return part;
  const { $ref, prefixItems, ...rest } = part;
  const others = Object.fromEntries(Object.entries(rest).map(([name, value]) => [name, known(value)]));
  // a description beside a reference would make a copy of the type
  if ($ref) return { $ref };
  return prefixItems ? { ...others, items: prefixItems.map(known), additionalItems: false } : others;
}

const schema = known(JSON.parse(readFileSync(SOURCE, "utf8")));
const text = await compile({ ...schema, title: "Report" }, "Report", {
  additionalProperties: false,
  bannerComment: "// Made by types.mjs from schemas/report.json; do not edit. What `prony report --format json` prints.",
  style: { printWidth: 120 },
});
if (!process.argv.includes("--check")) {
  writeFileSync(TARGET, text);
} else if (text !== readFileSync(TARGET, "utf8")) {
  console.error("viewer/src/report.ts is not what schemas/report.json gives: run `make viewer`");
  process.exit(1);
}
