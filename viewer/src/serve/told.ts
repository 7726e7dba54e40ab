// What a run tells, as crates/prony/src/live writes it, and what is known of it at a moment. Pure: no page.

export interface Second {
  stream: number;
  second: number;
  warm_up: boolean;
  rate: number;
  times: [number, number, number] | null;
  errors: number;
}

/** What one of several load hosts does just now. */
export interface LoadHost {
  host: string;
  connections: number;
  /** CPUs: busy on it, used by its load process, and those that this was ready to use and did not get. */
  busy: number;
  own: number;
  waiting: number;
  /** Received and sent in a second. */
  bytes: number;
  /** How long its results have been missing, s; null: they come in time. */
  lag: number | null;
}

export interface Finished {
  levels: string;
  figures: { rate: number; p95: number | null } | null;
  said: Record<string, string>;
  done: number;
  total: number;
  left: number;
}

export type Line = { after: number } & (
  | { told: "began"; servers: string[]; total: number; left: number }
  | { told: "server"; server: string; said: Record<string, string> }
  | { told: "ready"; server: string; version: string }
  | { told: "loading"; server: string; rows: number; rows_total: number }
  | { told: "loaded"; server: string; seconds: number; origin: string }
  | { told: "remark"; server: string; said: Record<string, string> }
  | { told: "added"; levels: string; because: string }
  | { told: "searching"; levels: string; rate: number | null }
  | { told: "trial"; levels: string; streams: string[]; place: number; total: number; takes: number; left: number }
  | ({ told: "second" } & Second)
  | { told: "load_hosts"; hosts: LoadHost[]; total: number }
  | ({ told: "finished" } & Finished)
  | { told: "over"; complete: boolean }
);

export type Trial = Extract<Line, { told: "trial" }>;

/** How far a run is. */
export class Course {
  /** Seconds since it began, as far as is known. */
  after = 0;
  done = 0;
  total = 0;
  trial: Trial | null = null;
  /** Seconds of the running trial, or of the last one. */
  seconds: Second[] = [];
  /** What load hosts do, those that lag first, then the busiest; and how many there are. */
  hosts: LoadHost[] = [];
  hosts_total = 0;
  finished: Finished[] = [];
  /** What is worth a line in a log. */
  events: Line[] = [];
  is_over = false;
  private left_at: { left: number; after: number } | null = null;

  heed(line: Line): void {
    this.after = Math.max(this.after, line.after);
    if ("left" in line) this.left_at = { left: line.left, after: line.after };
    switch (line.told) {
      case "began":
        this.total = line.total;
        break;
      case "trial":
        this.trial = line;
        this.total = line.total;
        this.seconds = [];
        [this.hosts, this.hosts_total] = [[], 0];
        break;
      case "load_hosts":
        [this.hosts, this.hosts_total] = [line.hosts, line.total];
        return;
      case "second":
        this.seconds.push(line);
        return;
      case "finished":
        this.done = line.done;
        this.total = line.total;
        this.finished.push(line);
        break;
      case "added":
        this.total += 1;
        break;
      case "over":
        this.is_over = true;
        break;
      case "loading": {
        // one line for each loading, not one for each second
        const last = this.events.at(-1);
        if (last?.told === "loading" && last.server === line.server) this.events.pop();
      }
    }
    this.events.push(line);
  }

  /** Seconds left; null: unknown. */
  get left(): number | null {
    return this.left_at && Math.max(0, this.left_at.left - (this.after - this.left_at.after));
  }
}
