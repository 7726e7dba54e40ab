// Numbers as people read them; the same rules as crates/prony/src/report/number.rs.

/** Whole digits with thousands apart; by hand, since not every engine for JavaScript knows languages. */
function grouped(text: string): string {
  const [, sign = "", whole = "", rest = ""] = /^(-?)(\d+)(.*)$/.exec(text) ?? [];
  return `${sign}${whole.replace(/\B(?=(\d{3})+$)/g, ",")}${rest}`;
}

/** About three significant digits, thousands apart: `1,234`, `12.3`, `0.012`. */
export function number(value: number): string {
  if (!Number.isFinite(value)) return "–";
  const size = Math.abs(value);
  return grouped(value.toFixed(size >= 100 ? 0 : size >= 10 ? 1 : size >= 1 ? 2 : 3));
}

/** A tick of an axis: no more digits than it needs. */
export function tick(value: number): string {
  return grouped(String(Number(Number(value.toPrecision(6)).toFixed(6))));
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
