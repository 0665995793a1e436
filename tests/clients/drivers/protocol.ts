/** The lines protocol of the client drivers (see ../README.md), for the drivers written in TypeScript. */
import { createInterface } from "node:readline";

/** A record as the protocol's lines carry it; bytes are base64, null is null. */
export interface RecordLine {
  partition?: number | null;
  offset?: number;
  key: string | null;
  value: string | null;
  headers: [name: string, value: string | null][];
  timestamp?: number | null;
}

export interface ProduceCommand {
  bootstrap: string;
  topic: string;
  clientId?: string;
  acks: "0" | "1" | "all";
  codec: "none" | "gzip" | "snappy" | "lz4" | "zstd";
  idempotent: boolean;
  records: RecordLine[];
}

export interface ConsumeCommand {
  bootstrap: string;
  topic: string;
  /** Records to read of each partition, from its beginning. */
  counts: Record<string, number>;
}

export interface JoinCommand {
  bootstrap: string;
  consumer: string;
  group: string;
  topic: string;
  assignor: "range" | "cooperative";
  instanceId?: string;
  sessionMs?: number;
}

export interface CommitCommand {
  consumer: string;
  offsets: Record<string, number>;
}

export interface Operations {
  hello(): object | Promise<object>;
  produce(command: ProduceCommand): Promise<{ offsets: (number | null)[] }>;
  consume(command: ConsumeCommand): Promise<{ records: RecordLine[] }>;
  join(command: JoinCommand): Promise<void>;
  commit(command: CommitCommand): Promise<object | undefined>;
  leave(command: { consumer: string }): Promise<void>;
}

/** A failure that the broker (or the client) named by one of Kafka's error codes. */
export class ClientError extends Error {
  readonly code: number;
  constructor(code: number, message: string) {
    super(message);
    this.code = code;
  }
}

export function encode(data: Uint8Array | null | undefined): string | null {
  return data === null || data === undefined ? null : Buffer.from(data).toString("base64");
}

export function decode(text: string | null): Buffer | null {
  return text === null ? null : Buffer.from(text, "base64");
}

export function byPosition(records: RecordLine[]): RecordLine[] {
  return records.sort((a, b) => (a.partition ?? 0) - (b.partition ?? 0) || (a.offset ?? 0) - (b.offset ?? 0));
}

function write(line: object): void {
  process.stdout.write(`${JSON.stringify(line)}\n`);
}

export function event(kind: "assignment" | "record" | "error", consumer: string, fields: object): void {
  write({ event: kind, consumer, ...fields });
}

/** Answers the commands of standard input one after the other until it ends. */
export async function serve(operations: Operations): Promise<never> {
  for await (const line of createInterface({ input: process.stdin })) {
    const command = JSON.parse(line) as { id: number; op: keyof Operations };
    try {
      const operation = operations[command.op] as (command: unknown) => Promise<object | undefined>;
      write({ id: command.id, ...(await operation(command)) });
    } catch (error) {
      if (!(error instanceof ClientError)) console.error(error);
      const code = error instanceof ClientError ? error.code : -1;
      write({
        id: command.id,
        error: { code, message: error instanceof Error ? `${error.name}: ${error.message}` : `${error}` },
      });
    }
  }
  process.exit(0);
}

/** Collects records until every partition has its count; rejects 30 s after the start. */
export class Collector {
  readonly records: RecordLine[] = [];
  readonly #left: Map<number, number>;
  readonly done: Promise<RecordLine[]>;
  #finish: (records: RecordLine[]) => void = () => {};

  constructor(counts: Record<string, number>) {
    this.#left = new Map(Object.entries(counts).map(([partition, count]) => [Number(partition), count]));
    this.done = new Promise((finish, fail) => {
      const timer = setTimeout(
        () => fail(new Error(`still to come after 30 s: ${JSON.stringify([...this.#left])}`)),
        30_000,
      );
      this.#finish = (records) => {
        clearTimeout(timer);
        finish(byPosition(records));
      };
    });
    this.#check();
  }

  add(record: RecordLine): void {
    const left = this.#left.get(record.partition ?? 0);
    if (left === undefined) return;
    this.records.push(record);
    this.#left.set(record.partition ?? 0, left - 1);
    this.#check();
  }

  #check(): void {
    if ([...this.#left.values()].every((count) => count <= 0)) this.#finish(this.records);
  }
}
