/**
 * The runner's end of the lines protocol: one driver process, its answers by id, its events as they come.
 * Invariant: every wait has a limit, and says at the limit what the driver had said so far.
 */
import { type ChildProcessByStdio, spawn } from "node:child_process";
import { createInterface } from "node:readline";
import type { Readable, Writable } from "node:stream";
import type { RecordLine } from "./drivers/protocol.ts";

export type { RecordLine } from "./drivers/protocol.ts";

export interface DriverEvent {
  event: "assignment" | "record" | "error";
  consumer: string;
  partitions?: number[];
  record?: RecordLine;
  code?: number;
  message?: string;
}

export interface Answer {
  id: number;
  error?: { code: number; message: string };
  offsets?: (number | null)[];
  records?: RecordLine[];
  [field: string]: unknown;
}

export class Driver {
  readonly events: DriverEvent[] = [];
  readonly #child: ChildProcessByStdio<Writable, Readable, Readable>;
  readonly #waiting = new Map<number, { answer: (line: Answer) => void; fail: (error: Error) => void }>();
  readonly #ended: Promise<void>;
  #watchers = new Set<() => void>();
  #nextId = 1;
  #errors = "";

  constructor(command: readonly string[], environment: Record<string, string> = {}) {
    const [program, ...parameters] = command;
    this.#child = spawn(program as string, parameters, {
      stdio: ["pipe", "pipe", "pipe"],
      env: { ...process.env, ...environment },
      detached: true, // a process group of its own, so that killing it reaches kcat's runs too
    });
    this.#child.stdin.on("error", () => {});
    this.#child.stderr.on("data", (data) => {
      this.#errors = (this.#errors + data).slice(-4000);
    });
    createInterface({ input: this.#child.stdout }).on("line", (line) => this.#receive(line));
    this.#ended = new Promise((ended) => {
      this.#child.on("error", (error) => {
        this.#fail(error);
        ended();
      });
      this.#child.on("close", () => {
        this.#fail(new Error(`the driver ended; it said: ${this.#errors}`));
        ended();
      });
    });
  }

  #receive(line: string): void {
    const message = JSON.parse(line) as Answer | DriverEvent;
    if ("event" in message) {
      this.events.push(message as DriverEvent);
      for (const watcher of [...this.#watchers]) watcher();
    } else {
      this.#waiting.get(message.id)?.answer(message);
      this.#waiting.delete(message.id);
    }
  }

  #fail(error: Error): void {
    for (const { fail } of this.#waiting.values()) fail(error);
    this.#waiting.clear();
  }

  /** Performs one operation; the answer may be an `error`. Rejects when the driver dies, or has not answered in 90 s. */
  ask(op: string, fields: object = {}): Promise<Answer> {
    const id = this.#nextId++;
    return new Promise((answer, fail) => {
      const timer = setTimeout(() => fail(new Error(`${op}: no answer within 90 s; it said: ${this.#errors}`)), 90_000);
      const settled =
        <Value>(settle: (value: Value) => void) =>
        (value: Value) => {
          clearTimeout(timer);
          settle(value);
        };
      this.#waiting.set(id, { answer: settled(answer), fail: settled(fail) });
      this.#child.stdin.write(`${JSON.stringify({ id, op, ...fields })}\n`);
    });
  }

  /** Like `ask`, and an `error` rejects. */
  async must(op: string, fields: object = {}): Promise<Answer> {
    const answer = await this.ask(op, fields);
    if (answer.error) throw new Error(`${op}: ${answer.error.message} (code ${answer.error.code})\n${this.#errors}`);
    return answer;
  }

  /** Waits until `condition` holds of the events so far; rejects after 40 s with them. */
  async until(what: string, condition: (events: DriverEvent[]) => boolean): Promise<void> {
    if (condition(this.events)) return;
    await new Promise<void>((finish, fail) => {
      const timer = setTimeout(() => {
        this.#watchers.delete(look);
        const said = this.events.map((event) => JSON.stringify(event)).slice(-20);
        fail(new Error(`${what}: not within 40 s; the last events:\n${said.join("\n")}\n${this.#errors}`));
      }, 40_000);
      const look = () => {
        if (!condition(this.events)) return;
        clearTimeout(timer);
        this.#watchers.delete(look);
        finish();
      };
      this.#watchers.add(look);
    });
  }

  /** The partitions that a consumer last said it has. */
  assignment(consumer: string): number[] | undefined {
    return this.events.findLast((event) => event.event === "assignment" && event.consumer === consumer)?.partitions;
  }

  records(consumer: string): RecordLine[] {
    return this.events.flatMap((event) => (event.consumer === consumer && event.record ? [event.record] : []));
  }

  /** Ends the process and what it started at once, as a crash would. */
  async kill(): Promise<void> {
    try {
      if (this.#child.pid !== undefined) process.kill(-this.#child.pid, "SIGKILL");
    } catch {
      // already gone
    }
    await this.#ended;
  }
}
