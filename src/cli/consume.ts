/**
 * `consume`: records of one or more topics to standard output, by partitions (-p, -o) or as a member of a group (-g).
 * Invariant: a group's offset is committed only after the records before it were written out.
 */
import { Buffer } from "node:buffer";
import { KafkaError } from "../base/kafka_error.ts";
import type { KafkaClient } from "../client/client.ts";
import { Consumer, type Fetched, type Position } from "../client/consumer.ts";
import { GroupMember } from "../client/group_member.ts";
import { fetchOffsets } from "../client/groups.ts";
import { listOffsets, offsetTimes } from "../client/offsets.ts";
import { CliError, type Io, UsageError } from "./io.ts";
import { type KafkaFlags, numberProperty, parseCount, parsePartitions, withClient } from "./kafka_flags.ts";
import { OffsetSyntaxError, parseOffset, type Range, type Start } from "./offset_grammar.ts";
import { Progress } from "./progress.ts";
import {
  compileFormat,
  delimitedPrinter,
  delimiterBytes,
  FormatError,
  kcatJsonPrinter,
  type Printer,
  rpkJsonPrinter,
} from "./record_format.ts";

export interface ConsumeFlags extends KafkaFlags {
  topic?: string[];
  partition?: string[];
  offset?: string[];
  fromBeginning?: boolean;
  exit?: boolean;
  count?: string;
  num?: string;
  maxMessages?: string;
  group?: string;
  format?: string;
  J?: boolean;
  K?: string;
  D?: string;
  Z?: boolean;
  regex?: boolean;
  readCommitted?: boolean;
  isolationLevel?: string;
  prettyPrint?: boolean;
  progress?: boolean;
}

export async function consume(positional: string[], flags: ConsumeFlags, io: Io): Promise<number> {
  const topics = [...(flags.topic ?? []), ...positional];
  if (topics.length === 0) throw new UsageError("no topic: rowlog consume TOPIC, or -t TOPIC");
  const session = new ConsumeSession(flags, io);
  return withClient(flags, io, async (client, given) => {
    const names = await resolveTopics(client, topics, flags.regex === true);
    const group = flags.group ?? given.get("group.id");
    if (group === undefined) return session.readPartitions(client, given, names);
    return session.readAsMember(client, given, group, names);
  });
}

/** `^expression` (kcat) or any name with -r (rpk) is a regular expression over the topics that exist. */
async function resolveTopics(client: KafkaClient, topics: string[], regex: boolean): Promise<string[]> {
  if (!regex && !topics.some((topic) => topic.startsWith("^"))) return topics;
  const all = (await client.metadata(null)).topics.map((topic) => topic.name ?? "");
  const names = topics.flatMap((topic) => {
    if (!regex && !topic.startsWith("^")) return [topic];
    const expression = regularExpression(topic);
    return all.filter((name) => expression.test(name) && !name.startsWith("__"));
  });
  if (names.length === 0) throw new CliError(`no topic matches ${topics.join(", ")}`);
  return [...new Set(names)];
}

function regularExpression(text: string): RegExp {
  try {
    return new RegExp(text);
  } catch (error) {
    throw new UsageError((error as Error).message);
  }
}

interface Reading extends Position {
  /** Not read any more at or past this offset. */
  stopOffset: number;
  stopMs: number;
  /** Everything before it was written out: what a group commits. */
  written: number;
  done: boolean;
}

class ConsumeSession {
  readonly #io: Io;
  readonly #flags: ConsumeFlags;
  readonly #print: Printer;
  readonly #progress: Progress;
  readonly #range: Range;
  readonly #exitAtEnd: boolean;
  readonly #readCommitted: boolean;
  #left: number;
  #written = 0;

  constructor(flags: ConsumeFlags, io: Io) {
    this.#io = io;
    this.#flags = flags;
    this.#print = printer(flags, io);
    this.#progress = new Progress(io, flags.progress !== false && !flags.quiet && !io.outIsTerminal);
    this.#range = offsetRange(flags);
    this.#exitAtEnd = flags.exit === true;
    this.#readCommitted = flags.readCommitted === true || flags.isolationLevel === "read_committed";
    const count = flags.num ?? flags.count ?? flags.maxMessages;
    this.#left = count === undefined || count === "0" ? Number.POSITIVE_INFINITY : parseCount(count, "-n");
  }

  async readPartitions(client: KafkaClient, given: Map<string, string>, topics: string[]): Promise<number> {
    const consumer = this.#consumer(client, given);
    const readings = await this.#positions(client, given, topics);
    const total = readings.reduce((sum, { offset, stopOffset }) => sum + Math.max(0, stopOffset - offset), 0);
    consumer.positions = readings.filter((reading) => !reading.done);
    while (consumer.positions.length > 0 && this.#left > 0 && !this.#io.signal.aborted) {
      for (const fetched of await consumer.next()) await this.#write(fetched, fetched.position as Reading);
      consumer.positions = (consumer.positions as Reading[]).filter((reading) => !reading.done);
      const bound = Number.isFinite(total) ? total : undefined;
      this.#progress.update({ label: topics.join(","), done: this.#written, total: bound, unit: "records" });
    }
    return this.#end();
  }

  async readAsMember(
    client: KafkaClient,
    given: Map<string, string>,
    group: string,
    topics: string[],
  ): Promise<number> {
    const member = new GroupMember(client, {
      group,
      topics,
      instanceId: given.get("group.instance.id"),
      sessionTimeoutMs: numberProperty(given, "session.timeout.ms", 45_000),
      heartbeatMs: numberProperty(given, "heartbeat.interval.ms", 3_000),
    });
    const commits = given.get("enable.auto.commit") !== "false";
    const consumer = this.#consumer(client, given);
    let committedAt = performance.now();
    const commit = async () => {
      committedAt = performance.now();
      const readings = consumer.positions as Reading[];
      if (commits)
        await member.commit(readings.map(({ topic, partition, written }) => ({ topic, partition, offset: written })));
    };
    try {
      while (this.#left > 0 && !this.#io.signal.aborted) {
        if (member.mustRejoin) {
          if (member.generation >= 0) await commit().catch(() => {});
          consumer.positions = await this.#assigned(client, given, group, await member.join());
        }
        for (const fetched of await consumer.next()) await this.#write(fetched, fetched.position as Reading);
        if (performance.now() - committedAt > 1_000) await commit().catch(rejoinIfAsked(member));
        const readings = consumer.positions as Reading[];
        if (readings.length > 0 && readings.every((reading) => reading.done)) break;
        this.#progress.update({ label: topics.join(","), done: this.#written, unit: "records" });
      }
      if (member.generation >= 0 && !member.mustRejoin) await commit();
    } finally {
      await member.leave().catch(() => {});
    }
    return this.#end();
  }

  #consumer(client: KafkaClient, given: Map<string, string>): Consumer {
    return new Consumer(client, {
      readCommitted: this.#readCommitted || given.get("isolation.level") === "read_committed",
      waitMs: numberProperty(given, "fetch.wait.max.ms", 500),
      minBytes: numberProperty(given, "fetch.min.bytes", 1),
    });
  }

  #end(): number {
    this.#progress.end();
    if (this.#flags.verbose) this.#io.err(`${this.#written} records\n`);
    return this.#io.signal.aborted ? 130 : 0;
  }

  async #positions(client: KafkaClient, given: Map<string, string>, topics: string[]): Promise<Reading[]> {
    const chosen = this.#flags.partition ? parsePartitions(this.#flags.partition) : undefined;
    const places: { topic: string; partition: number }[] = [];
    for (const topic of topics) {
      const partitions = (await client.topic(topic)).partitions.map(({ partitionIndex }) => partitionIndex);
      const missing = chosen?.find((partition) => !partitions.includes(partition));
      if (missing !== undefined)
        throw new CliError(`topic "${topic}" has no partition ${missing} (it has ${partitions.length})`);
      for (const partition of (chosen ?? partitions).sort((a, b) => a - b)) places.push({ topic, partition });
    }
    const start = this.#range.start ?? this.#defaultStart(given);
    return this.#readings(client, places, () => start);
  }

  /** The committed offset, or where the group has none: -o, auto.offset.reset, or the beginning. */
  async #assigned(
    client: KafkaClient,
    given: Map<string, string>,
    group: string,
    places: { topic: string; partition: number }[],
  ): Promise<Reading[]> {
    const committed = await fetchOffsets(client, group);
    const otherwise =
      this.#range.start && this.#range.start.kind !== "stored" ? this.#range.start : this.#defaultStart(given);
    return this.#readings(client, places, ({ topic, partition }) => {
      const found = committed.find((entry) => entry.topic === topic && entry.partition === partition);
      return found ? { kind: "offset", offset: found.offset } : otherwise;
    });
  }

  #defaultStart(given: Map<string, string>): Start {
    const reset = given.get("auto.offset.reset") ?? "";
    if (/^(latest|largest|end)$/.test(reset)) return { kind: "end", back: 0 };
    return { kind: "beginning", plus: 0 };
  }

  async #readings(
    client: KafkaClient,
    places: { topic: string; partition: number }[],
    startOf: (place: { topic: string; partition: number }) => Start,
  ): Promise<Reading[]> {
    if (places.length === 0) return [];
    const at = (time: bigint) =>
      listOffsets(
        client,
        places.map((place) => ({ ...place, time })),
        this.#readCommitted,
      );
    const [first, last] = [await at(offsetTimes.earliest), await at(offsetTimes.latest)];
    const { stop } = this.#range;
    return Promise.all(
      places.map(async (place, i) => {
        const [low, high] = [first[i]?.offset ?? 0, last[i]?.offset ?? 0];
        const offset = await startOffset(client, place, startOf(place), low, high);
        const toEnd = this.#exitAtEnd || stop?.kind === "end";
        const stopOffset = stop?.kind === "offset" ? stop.offset : toEnd ? high : Number.POSITIVE_INFINITY;
        const stopMs = stop?.kind === "time" ? stop.ms : Number.POSITIVE_INFINITY;
        // Reading up to a time ends at the present end as well when that time has passed.
        const bound = stopMs <= Date.now() ? Math.min(stopOffset, high) : stopOffset;
        return { ...place, offset, stopOffset: bound, stopMs, written: offset, done: offset >= bound };
      }),
    );
  }

  async #write(fetched: Fetched, reading: Reading): Promise<void> {
    const out: Uint8Array[] = [];
    const { records, brokerId, timestampType } = fetched;
    let next = reading.offset;
    for (const record of records) {
      if (record.offset >= reading.stopOffset || record.timestamp >= reading.stopMs) reading.done = true;
      if (reading.done || this.#left <= 0) {
        // What is left behind is read again by the next member of the group.
        next = record.offset;
        break;
      }
      this.#print({ record, topic: reading.topic, partition: reading.partition, brokerId, timestampType }, out);
      this.#left--;
      this.#written++;
    }
    if (out.length > 0) await this.#io.out(Buffer.concat(out));
    reading.written = next;
    if (reading.offset >= reading.stopOffset) reading.done = true;
  }
}

function rejoinIfAsked(member: GroupMember): (error: unknown) => void {
  return (error) => {
    if (!(error instanceof KafkaError)) throw error;
    member.mustRejoin = true;
  };
}

async function startOffset(
  client: KafkaClient,
  place: { topic: string; partition: number },
  start: Start,
  low: number,
  high: number,
): Promise<number> {
  switch (start.kind) {
    case "beginning":
      return Math.min(high, low + start.plus);
    case "end":
      return Math.max(low, high - start.back);
    case "offset":
      return start.offset;
    case "stored":
      return low;
    case "time": {
      const found = (await listOffsets(client, [{ ...place, time: BigInt(start.ms) }]))[0];
      return found && found.offset >= 0 ? found.offset : high;
    }
  }
}

function offsetRange(flags: ConsumeFlags): Range {
  const range: Range = flags.fromBeginning ? { start: { kind: "beginning", plus: 0 } } : {};
  try {
    for (const text of flags.offset ?? []) Object.assign(range, parseOffset(text));
  } catch (error) {
    if (error instanceof OffsetSyntaxError) throw new UsageError(`-o: ${error.message}`);
    throw error;
  }
  return range;
}

function printer(flags: ConsumeFlags, io: Io): Printer {
  const nullText = flags.Z ? "NULL" : "";
  if (flags.J) return kcatJsonPrinter();
  if (flags.format === "json" || (flags.format === undefined && flags.K === undefined && flags.D === undefined))
    return rpkJsonPrinter(flags.prettyPrint ?? (io.outIsTerminal && flags.format === undefined));
  if (flags.format === undefined) {
    const key = flags.K === undefined ? undefined : delimiterBytes(flags.K);
    return delimitedPrinter(key, delimiterBytes(flags.D ?? "\\n"), nullText);
  }
  try {
    return compileFormat(flags.format, nullText);
  } catch (error) {
    if (error instanceof FormatError) throw new UsageError(`-f: ${error.message}`);
    throw error;
  }
}
