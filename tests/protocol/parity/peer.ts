/**
 * A connection to a broker for comparing brokers: requests are given as the fields that matter (the rest are defaults from
 * the schema), answers come back with everything replaced that differs from run to run (ids, times, addresses).
 */
import { Buffer } from "node:buffer";
import { apiByKey } from "../../../src/protocol/frames.ts";
import { type ApiKey, apiKeys } from "../../../src/protocol/generated/index.ts";
import { Wire } from "../../harness/wire.ts";
import { type FieldRow, has, loadSchema, type MessageRow, Twin, type Value } from "../twin.ts";

const schema = new Map(loadSchema().map((message) => [message.name, message]));

/** Fields whose values are another in every run, and what stands for them when they are set. */
const volatile: Record<string, string> = {
  clusterId: "CLUSTER",
  host: "HOST",
  port: "PORT",
  logDir: "DIR",
  totalBytes: "BYTES",
  usableBytes: "BYTES",
  lastTimestamp: "TIME",
  logAppendTimeMs: "TIME",
  sessionId: "SESSION",
  clientHost: "HOST",
};

/** What an answer holds beyond the comparison. */
const dropped = new Set(["throttleTimeMs", "unknownTaggedFields", "authorizedOperations"]);

/** The longest that a broker may take; no case waits longer than a second for records. */
const answerWaitMs = 4000;

function later<T>(waitMs: number, value: T): Promise<T> {
  return new Promise((resolve) => setTimeout(resolve, waitMs, value).unref());
}

export class Peer {
  readonly port: number;
  /** Starts the name of every topic and group of this run. */
  readonly prefix: string;
  private wire: Wire;
  private readonly ids = new Map<string, string>();

  private constructor(port: number, prefix: string, wire: Wire) {
    this.port = port;
    this.prefix = prefix;
    this.wire = wire;
  }

  static async open(port: number, prefix: string): Promise<Peer> {
    return new Peer(port, prefix, await Wire.open(port));
  }

  close(): void {
    this.wire.close();
  }

  /** The answer as it came, or "closed", or "no answer"; then the next call uses a new connection. */
  async raw(api: keyof typeof apiKeys, version: number, fields: Value): Promise<Value> {
    const key: ApiKey = apiKeys[api];
    const body = fill(schema.get(`${api}Request`)!, version, fields);
    const { wire } = this;
    let outcome: Value;
    try {
      outcome = await Promise.race([wire.call(key, version, body as never), later(answerWaitMs, "no answer")]);
    } catch (error) {
      if (!wire.isClosed) throw error;
      outcome = "closed";
    }
    if (typeof outcome === "string") {
      wire.close();
      this.wire = await Wire.open(this.port);
    }
    return outcome;
  }

  /** The answer without what is another in every run. */
  async ask(api: keyof typeof apiKeys, version: number, fields: Value): Promise<Value> {
    const answer = await this.raw(api, version, fields);
    if (typeof answer === "string") return answer;
    const twin = new Twin(schema.get(`${api}Response`)!);
    // Only what this version has: JSON by the schema leaves the rest out.
    return this.normal(visible(twin, answer, version));
  }

  /** Sends bytes on a connection of their own: the answer in hex, and whether the connection was closed. */
  async bytes(hex: string, waitMs = 150): Promise<Value> {
    const wire = await Wire.open(this.port);
    wire.socket.write(Buffer.from(hex, "hex"));
    const frame = await Promise.race([wire.frame(), new Promise<undefined>((done) => setTimeout(done, waitMs))]);
    if (!frame) await new Promise((done) => setTimeout(done, 20));
    const answer = { answer: frame ? Buffer.from(frame).toString("hex") : null, closed: wire.isClosed };
    wire.close();
    return answer;
  }

  /** Stands for values that are another in every run, the same for the same value. */
  private alias(kind: string, value: string): string {
    const known = this.ids.get(`${kind} ${value}`);
    if (known !== undefined) return known;
    const name = `${kind}${[...this.ids.keys()].filter((key) => key.startsWith(`${kind} `)).length + 1}`;
    this.ids.set(`${kind} ${value}`, name);
    return name;
  }

  private normal(value: Value, name = ""): Value {
    if (Array.isArray(value)) {
      const items = value.filter((item) => !this.isForeign(item)).map((item) => this.normal(item, name));
      // The order of most arrays is the broker's own affair; that of synonyms says which value counts.
      return name !== "synonyms" && items.every((item) => typeof item === "object" && item !== null)
        ? items.sort((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1))
        : items;
    }
    if (value instanceof Uint8Array) return `${value.length} bytes`;
    if (value !== null && typeof value === "object") {
      const entries = Object.entries(value).filter(([key]) => !dropped.has(key));
      return Object.fromEntries(entries.map(([key, item]) => [key, this.normal(item, key)]));
    }
    return this.normalScalar(value, name);
  }

  private normalScalar(value: Value, name: string): Value {
    if (name === "producerId" && value !== -1) return this.alias("PRODUCER", String(value));
    if (value === null || value === -1 || value === 0 || value === "") return value;
    if (name === "errorMessage" || name === "batchIndexErrorMessage") return "MESSAGE";
    if (name in volatile) return volatile[name];
    if (name === "topicId") return value === "AAAAAAAAAAAAAAAAAAAAAA" ? "none" : this.alias("TOPIC", value);
    if (typeof value === "number" && value > 1e12 && value < 1e14) return "TIME";
    if (typeof value !== "string") return value;
    return value
      .replaceAll(this.prefix, "")
      .replace(/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g, "UUID");
  }

  /** Topics and groups of others in answers that list everything. */
  private isForeign(item: Value): boolean {
    if (item === null || typeof item !== "object") return false;
    const name = item.groupId ?? ("partitions" in item ? item.name : undefined);
    // Impossible names of the cases themselves carry no prefix.
    return typeof name === "string" && name !== "" && !name.startsWith(this.prefix) && !/^[ .]|^a+$/.test(name);
  }
}

/** The fields of an answer that its version has; big integers as numbers. */
function visible(twin: Twin, answer: Value, version: number): Value {
  const walk = (struct: string, value: Value): Value => {
    const shown: Value = {};
    for (const field of twin.message.structs[struct]!) {
      if (!has(field.versions, version)) continue;
      shown[field.name] = walkType(field.type, value[field.name]);
    }
    return shown;
  };
  const walkType = (type: string, value: Value): Value => {
    if (value === null) return null;
    if (type.startsWith("[]")) return value.map((item: Value) => walkType(type.slice(2), item));
    if (typeof value === "bigint") return Number(value);
    return /^[A-Z]/.test(type) ? walk(type, value) : value;
  };
  return walk(twin.message.name, answer);
}

/**
 * Adds the defaults of what is not given, at every depth, and leaves out what the version lacks; numbers for 64-bit fields
 * become big integers.
 */
function fill(message: MessageRow, version: number, fields: Value): Value {
  const twin = new Twin(message);
  const fillStruct = (struct: string, given: Value): Value => {
    const value = twin.defaults(struct);
    for (const name of Object.keys(given)) {
      const field = message.structs[struct]!.find((one: FieldRow) => one.name === name);
      if (!field) throw new Error(`${message.name}: ${struct} has no field ${name}`);
      if (has(field.versions, version)) value[name] = fillType(field.type, given[name]);
    }
    return value;
  };
  const fillType = (type: string, given: Value): Value => {
    if (given === null) return null;
    if (type.startsWith("[]")) return given.map((item: Value) => fillType(type.slice(2), item));
    if (type === "int64") return BigInt(given);
    return /^[A-Z]/.test(type) ? fillStruct(type, given) : given;
  };
  return fillStruct(message.name, fields);
}

/** Whether an API has this version at all (for cases that go through all of them). */
export function versionsOf(api: keyof typeof apiKeys): number[] {
  const [least, most] = apiByKey(apiKeys[api])!.requestVersions;
  return Array.from({ length: most - least + 1 }, (_, index) => least + index);
}
