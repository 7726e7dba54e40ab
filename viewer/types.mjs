// Writes src/charts.ts, the types of what the viewer reads, from the JSON schema that Prony itself makes of its charts
// (schemas/charts.json). `--check` compares instead, and writes nothing.
import { readFileSync, writeFileSync } from "node:fs";
import { compile } from "json-schema-to-typescript";

const SOURCE = new URL("../schemas/charts.json", import.meta.url);
const TARGET = new URL("src/charts.ts", import.meta.url);

/** The newer words of a schema that the generator does not know, in those that it does. */
function known(part) {
  if (Array.isArray(part)) return part.map(known);
  if (part === null || typeof part !== "object") return part;
  const { $ref, prefixItems, ...rest } = part;
  const others = Object.fromEntries(Object.entries(rest).map(([name, value]) => [name, known(value)]));
  // a description beside a reference would make a copy of the type; what tells variants apart belongs to it
  if ($ref) return rest.properties ? { allOf: [{ $ref }, others] } : { $ref };
  return prefixItems ? { ...others, items: prefixItems.map(known), additionalItems: false } : others;
}

const schema = known(JSON.parse(readFileSync(SOURCE, "utf8")));
const text = await compile({ ...schema, title: "Charts" }, "Charts", {
  additionalProperties: false,
  bannerComment: "// Made by types.mjs from schemas/charts.json; do not edit. The charts of a page, as values.",
  style: { printWidth: 120 },
});
if (!process.argv.includes("--check")) {
  writeFileSync(TARGET, text);
} else if (text !== readFileSync(TARGET, "utf8")) {
  console.error("viewer/src/charts.ts is not what schemas/charts.json gives: run `make viewer`");
  process.exit(1);
}
