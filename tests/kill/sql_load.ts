/**
 * SQL beside the producers: one writer whose transactions fill a table, a keyed table and, by produce(), a plain topic; and readers that check that
 * what they see never goes back, over kills and restarts too.
 */
import { sql } from "../clients/target.ts";

export const ledger = "ledger";
export const audit = "audit";
export const keyed = "users";

export class SqlLoad {
  private readonly http: () => string;
  private running = false;
  private writer: Promise<void> | undefined;
  private readers: Promise<void> | undefined;
  private next = 0;
  /** Transactions whose COMMIT was answered, and those that nothing is known of. */
  readonly committed: number[] = [];
  readonly unknown: number[] = [];
  /** What a reader saw go back. */
  readonly faults: string[] = [];
  reads = 0;
  private rows = 0;
  private readonly numbers = new Map<number, number>();

  /** `http`: where the node is now. */
  constructor(http: () => string) {
    this.http = http;
  }

  begin(): void {
    this.running = true;
    this.writer = this.write();
    this.readers = this.read();
  }

  /** Call it when the node is gone, or idle: both end with the statement that they are at. */
  async end(): Promise<void> {
    this.running = false;
    await Promise.all([this.writer, this.readers]);
  }

  private async write(): Promise<void> {
    while (this.running) {
      const number = this.next++;
      const id = 100 + (number % 20);
      const text = [
        "BEGIN",
        `INSERT INTO ${ledger} VALUES (${number})`,
        number % 7 === 6
          ? `DELETE FROM ${keyed} WHERE id = ${id}`
          : `INSERT OR REPLACE INTO ${keyed} VALUES (${id}, ${number})`,
        `SELECT produce('${audit}', NULL, '{"id":${number}}')`,
        "COMMIT",
      ].join("; ");
      try {
        await sql(this.http(), text);
        this.committed.push(number);
      } catch {
        // The node is gone, or its SQL engine is still starting.
        this.unknown.push(number);
        await new Promise((wake) => setTimeout(wake, 20));
      }
    }
  }

  private async read(): Promise<void> {
    while (this.running) {
      try {
        const [[rows]] = (await sql(this.http(), `SELECT count(*) FROM ${ledger}`)) as [[number]];
        if (rows < this.rows) this.faults.push(`${ledger} had ${this.rows} rows, then ${rows}`);
        this.rows = Math.max(this.rows, rows);
        for (const [id, n] of (await sql(this.http(), `SELECT id, n FROM ${keyed}`)) as [number, number][]) {
          const before = this.numbers.get(id) ?? -1;
          if (n < before) this.faults.push(`row ${id} of ${keyed} had n = ${before}, then ${n}`);
          this.numbers.set(id, Math.max(before, n));
        }
        this.reads++;
      } catch {
        await new Promise((wake) => setTimeout(wake, 20));
      }
    }
  }
}
