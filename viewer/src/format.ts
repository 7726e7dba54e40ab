// Numbers as people read them; the same rules as crates/prony/src/report/number.rs.

/** About three significant digits, thousands apart: `1,234`, `12.3`, `0.012`. */
export function number(value: number): string {
  if (!Number.isFinite(value)) return "–";
  const size = Math.abs(value);
  const digits = size >= 100 ? 0 : size >= 10 ? 1 : size >= 1 ? 2 : 3;
  return value.toLocaleString("en-US", { minimumFractionDigits: digits, maximumFractionDigits: digits });
}

/** A tick of an axis: no more digits than it needs. */
export function tick(value: number): string {
  return Number(value.toPrecision(6)).toLocaleString("en-US", { maximumFractionDigits: 6 });
}

/** A share as a percentile: `99.9 %`. */
export function percentile(share: number): string {
  return `${Number((share * 100).toFixed(4))} %`;
}

/** Text that is safe inside HTML: names of servers come from a user's file. */
export function escape(text: string): string {
  const entities: Record<string, string> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;" };
  return text.replace(/[&<>"']/g, (character) => entities[character] ?? character);
}
