/** What a scenario is: steps with one client against one broker, and a result that does not depend on time, place or luck. */
import { createHash } from "node:crypto";
import type { ClientDefinition } from "./clients.ts";
import { Driver, type RecordLine } from "./driver.ts";
import { createTopic, type Target } from "./target.ts";

export interface Scenario {
  readonly name: string;
  readonly applies?: (client: ClientDefinition) => boolean;
  /** Answers what is compared with the same on Apache Kafka: JSON values only. */
  run(stage: Stage): Promise<unknown>;
}

/** One run of one scenario: its broker, its drivers, and names of its own. */
export class Stage {
  readonly client: ClientDefinition;
  readonly target: Target;
  readonly name: string;
  readonly #drivers: Driver[] = [];

  constructor(client: ClientDefinition, target: Target, name: string) {
    this.client = client;
    this.target = target;
    this.name = name;
  }

  /** A name that no other run on this broker has. */
  unique(what: string): string {
    return `${this.client.name}-${this.name}-${what}`;
  }

  async topic(what: string, partitions: number): Promise<string> {
    const topic = this.unique(what);
    await createTopic(this.target.bootstrap, topic, partitions);
    return topic;
  }

  /** A driver process of this client; ended with the stage at the latest. */
  driver(): Driver {
    const driver = new Driver(this.client.command(), { PYTHONDONTWRITEBYTECODE: "1" });
    this.#drivers.push(driver);
    return driver;
  }

  get bootstrap(): string {
    return this.target.bootstrap;
  }

  async end(): Promise<void> {
    await Promise.all(this.#drivers.map((driver) => driver.kill()));
  }
}

export const text = (value: string): string => Buffer.from(value).toString("base64");

/** A record with a text key and value. */
export function plainRecord(key: string | null, value: string, partition?: number): RecordLine {
  return {
    key: key === null ? null : text(key),
    value: text(value),
    headers: [],
    ...(partition === undefined ? {} : { partition }),
  };
}

export const asText = (data: string | null): string | null =>
  data === null ? null : Buffer.from(data, "base64").toString();

export function sha256(data: string | null): string | null {
  return data === null ? null : createHash("sha256").update(Buffer.from(data, "base64")).digest("hex");
}

/** `count` letters that do not compress to nothing, the same every time. */
export function letters(count: number): string {
  let state = 12345;
  const bytes = Buffer.alloc(count);
  for (let index = 0; index < count; index++) {
    state = (Math.imul(state, 1103515245) + 12345) >>> 0;
    bytes[index] = 97 + ((state >>> 16) % 26);
  }
  return bytes.toString();
}

export const range = (from: number, to: number): number[] =>
  Array.from({ length: to - from }, (_, index) => from + index);
