// What the server of `prony serve` is asked, and what it answers.

export interface Run {
  id: number;
  name: string;
  title: string;
  title_zh?: string;
  scale?: string | null;
  ours?: boolean;
  started: string;
  finished: string | null;
  state: "complete" | "running" | "interrupted" | "killed";
  process: number | null;
  labels: string[];
  note: string;
  measured: number;
  failed: number;
  planned: number;
}

export interface Me {
  has_token: boolean;
  store: string;
  directory: string;
  version: string;
}

export interface Study {
  name: string;
  title: string;
  title_zh: string;
  scales: string[];
  is_wrong: boolean;
}

/** Throughput of each treatment in the plan's order, for each server. */
export type Curve = (number | null)[][];

/** A refusal: its name, and what only the server knows of it. */
export class Refused extends Error {
  constructor(
    readonly kind: string,
    readonly run: number,
    readonly process: number,
    text: string,
  ) {
    super(text);
  }
}

async function answer<T>(response: Response): Promise<T> {
  if (response.status === 204) return undefined as T;
  const body = (await response.json().catch(() => ({}))) as Record<string, unknown>;
  if (response.ok) return body as T;
  throw new Refused(String(body["refused"] ?? ""), Number(body["run"]), Number(body["process"]), String(body["text"] ?? response.statusText));
}

export async function get<T>(path: string): Promise<T> {
  return answer<T>(await fetch(path, { headers: { accept: "application/json" } }));
}

export async function post<T>(path: string, body: unknown = {}): Promise<T> {
  return answer<T>(await fetch(path, { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) }));
}
