// The page holds every language: texts that differ between them are {"in": {LANGUAGE: text}}.

/** A value in one language. */
export function inLanguage(value: unknown, code: string): unknown {
  if (Array.isArray(value)) return value.map((one) => inLanguage(one, code));
  if (value === null || typeof value !== "object") return value;
  const fields = Object.entries(value);
  if (fields.length === 1 && fields[0]?.[0] === "in") return (fields[0][1] as Record<string, unknown>)[code];
  return Object.fromEntries(fields.map(([name, one]) => [name, inLanguage(one, code)]));
}

/** Of the languages that there are the one that a reader likes most: the first of theirs that is among them. */
export function preferred(codes: string[], liked: readonly string[]): string | undefined {
  const main = (code: string) => code.toLowerCase().split("-")[0];
  for (const one of liked) {
    const found = codes.find((code) => main(code) === main(one));
    if (found) return found;
  }
  return undefined;
}
