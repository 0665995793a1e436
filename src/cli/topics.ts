/** `topic list|create|describe|delete|alter-config|add-partitions|trim-prefix|offsets`. */
import type { KafkaClient } from "../client/client.ts";
import { listOffsets, offsetTimes } from "../client/offsets.ts";
import {
  addPartitions,
  alterTopicConfigs,
  createTopics,
  deleteRecords,
  deleteTopics,
  describeTopicConfigs,
} from "../client/topics.ts";
import { CliError, type Io, UsageError } from "./io.ts";
import { type KafkaFlags, parsePartitions, withClient } from "./kafka_flags.ts";
import { parseOffset, type Start } from "./offset_grammar.ts";
import { type ListFormat, printList } from "./output.ts";

export interface ListFlags extends KafkaFlags {
  format: ListFormat;
}

export function topicList(names: string[], flags: ListFlags & { internal?: boolean }, io: Io): Promise<number> {
  return withClient(flags, io, async (client) => {
    const { topics } = await client.metadata(names.length > 0 ? names : null);
    const failed = topics.find((topic) => topic.errorCode !== 0);
    if (failed) throw new CliError(`there is no topic "${failed.name}"`);
    const rows = topics
      .filter((topic) => flags.internal || names.length > 0 || !topic.isInternal)
      .sort((a, b) => ((a.name ?? "") < (b.name ?? "") ? -1 : 1))
      .map((topic) => [topic.name, topic.partitions.length, topic.partitions[0]?.replicaNodes.length ?? 0]);
    await printList(io, flags.format, ["name", "partitions", "replicas"], rows);
    return 0;
  });
}

export interface CreateFlags extends ListFlags {
  partitions?: string;
  replicas?: string;
  config?: string[];
  ifNotExists?: boolean;
  dry?: boolean;
}

export function topicCreate(names: string[], flags: CreateFlags, io: Io): Promise<number> {
  const configs = Object.fromEntries((flags.config ?? []).map((text) => keyValue(text, "-c")));
  const partitions = flags.partitions === undefined ? -1 : wholeNumber(flags.partitions, "-p");
  const replicationFactor = flags.replicas === undefined ? -1 : wholeNumber(flags.replicas, "-r");
  return withClient(flags, io, async (client) => {
    const wanted = names.map((name) => ({ name, partitions, replicationFactor, configs }));
    const results = await createTopics(client, wanted, flags.dry);
    const rows = names.map((name) => {
      const error = results.get(name);
      if (!error) return [name, flags.dry ? "OK (nothing was created)" : "OK"];
      if (flags.ifNotExists && error.errorName === "TOPIC_ALREADY_EXISTS") return [name, "exists already"];
      return [name, `${error.errorName}: ${error.message}`];
    });
    await printList(io, flags.format, ["topic", "status"], rows);
    return rows.some(([, status]) => String(status).includes(": ")) ? 1 : 0;
  });
}

export function topicDelete(names: string[], flags: ListFlags & { ifExists?: boolean }, io: Io): Promise<number> {
  return withClient(flags, io, async (client) => {
    const results = await deleteTopics(client, names);
    let failed = false;
    const rows = names.map((name) => {
      const error = results.get(name);
      if (!error) return [name, "OK"];
      if (flags.ifExists && error.code === 3) return [name, "did not exist"];
      failed = true;
      return [name, `${error.errorName}: ${error.message}`];
    });
    await printList(io, flags.format, ["topic", "status"], rows);
    return failed ? 1 : 0;
  });
}

export interface DescribeFlags extends ListFlags {
  printAll?: boolean;
  printConfigs?: boolean;
  printPartitions?: boolean;
  printSummary?: boolean;
}

/** Sections as rpk has them: summary and configs by default, partitions with -p, everything with -a. */
export function topicDescribe(names: string[], flags: DescribeFlags, io: Io): Promise<number> {
  const chosen = flags.printSummary || flags.printConfigs || flags.printPartitions;
  const shows = (flag: boolean | undefined, byDefault: boolean) =>
    flags.printAll === true || flag === true || (!chosen && byDefault);
  return withClient(flags, io, async (client) => {
    const described = [];
    for (const name of names) described.push(await describeTopic(client, name));
    if (flags.format === "json" || flags.format === "ndjson") {
      const text =
        flags.format === "json"
          ? `${JSON.stringify(described, null, 2)}\n`
          : described.map((topic) => `${JSON.stringify(topic)}\n`).join("");
      await io.out(text);
      return 0;
    }
    for (const topic of described) {
      if (described.length > 1) await io.out(`=== ${topic.name}\n`);
      if (shows(flags.printSummary, true)) {
        const { name, topic_id, internal, partitions } = topic;
        const summary = [
          ["name", name],
          ["id", topic_id],
          ["internal", internal],
          ["partitions", partitions.length],
        ];
        await printList(io, flags.format, ["summary", "value"], summary);
        if (flags.format === "table") await io.out("\n");
      }
      if (shows(flags.printConfigs, true)) {
        await printList(
          io,
          flags.format,
          ["key", "value", "source"],
          topic.configs.map(({ name, value, source }) => [name, value, source]),
        );
        if (flags.format === "table") await io.out("\n");
      }
      if (shows(flags.printPartitions, false)) {
        const columns = ["partition", "leader", "epoch", "replicas", "log_start_offset", "high_watermark"];
        const rows = topic.partitions.map((entry) => [
          entry.partition,
          entry.leader,
          entry.leader_epoch,
          JSON.stringify(entry.replicas),
          entry.log_start_offset,
          entry.high_watermark,
        ]);
        await printList(io, flags.format, columns, rows);
      }
    }
    return 0;
  });
}

async function describeTopic(client: KafkaClient, name: string) {
  const topic = await client.topic(name, { fresh: true });
  const numbers = topic.partitions.map(({ partitionIndex }) => partitionIndex).sort((a, b) => a - b);
  const [first, last] = await bothEnds(client, name, numbers);
  return {
    name,
    topic_id: topic.topicId,
    internal: topic.isInternal,
    configs: (await describeTopicConfigs(client, name)).map(({ name: key, value, source }) => ({
      name: key,
      value,
      source,
    })),
    partitions: numbers.map((partition, i) => {
      const entry = topic.partitions.find(({ partitionIndex }) => partitionIndex === partition);
      return {
        partition,
        leader: entry?.leaderId ?? -1,
        leader_epoch: entry?.leaderEpoch ?? -1,
        replicas: entry?.replicaNodes ?? [],
        log_start_offset: first[i] ?? -1,
        high_watermark: last[i] ?? -1,
      };
    }),
  };
}

async function bothEnds(client: KafkaClient, topic: string, partitions: number[]): Promise<[number[], number[]]> {
  const at = async (time: bigint) =>
    (
      await listOffsets(
        client,
        partitions.map((partition) => ({ topic, partition, time })),
      )
    ).map(({ offset }) => offset);
  return [await at(offsetTimes.earliest), await at(offsetTimes.latest)];
}

export function topicAlterConfig(
  names: string[],
  flags: ListFlags & { set?: string[]; delete?: string[] },
  io: Io,
): Promise<number> {
  const changes: Record<string, string | undefined> = Object.fromEntries(
    (flags.set ?? []).map((text) => keyValue(text, "-s")),
  );
  for (const name of flags.delete ?? []) changes[name] = undefined;
  if (Object.keys(changes).length === 0) throw new UsageError("nothing to change: give -s KEY=VALUE or -d KEY");
  return withClient(flags, io, async (client) => {
    for (const name of names) await alterTopicConfigs(client, name, changes);
    await printList(
      io,
      flags.format,
      ["topic", "status"],
      names.map((name) => [name, "OK"]),
    );
    return 0;
  });
}

export function topicAddPartitions(names: string[], flags: ListFlags & { num: string }, io: Io): Promise<number> {
  const more = wholeNumber(flags.num, "-n");
  return withClient(flags, io, async (client) => {
    for (const name of names) await addPartitions(client, name, (await client.topic(name)).partitions.length + more);
    await printList(
      io,
      flags.format,
      ["topic", "status"],
      names.map((name) => [name, "OK"]),
    );
    return 0;
  });
}

export function topicTrimPrefix(
  name: string,
  flags: ListFlags & { offset: string; partition?: string[] },
  io: Io,
): Promise<number> {
  const start = parseOffset(flags.offset).start;
  if (!start) throw new UsageError(`-o: "${flags.offset}" does not name one offset`);
  return withClient(flags, io, async (client) => {
    const partitions = await chosenPartitions(client, name, flags.partition);
    const found = await offsetsAt(client, name, partitions, start);
    const starts = await deleteRecords(
      client,
      name,
      new Map(found.map(({ partition, offset }) => [partition, offset])),
    );
    await printList(
      io,
      flags.format,
      ["topic", "partition", "new_start_offset"],
      [...starts].map(([partition, offset]) => [name, partition, offset]),
    );
    return 0;
  });
}

/** Without --at both ends of each partition; with it the first offset at or after a time. */
export function topicOffsets(
  names: string[],
  flags: ListFlags & { at?: string; partition?: string[] },
  io: Io,
): Promise<number> {
  const start = flags.at === undefined ? undefined : parseOffset(flags.at).start;
  if (flags.at !== undefined && !start) throw new UsageError(`--at: "${flags.at}" does not name one place`);
  return withClient(flags, io, async (client) => {
    const rows: unknown[][] = [];
    for (const name of names) {
      const partitions = await chosenPartitions(client, name, flags.partition);
      if (start) {
        for (const { partition, offset, timestampMs } of await offsetsAt(client, name, partitions, start))
          rows.push([name, partition, offset, timestampMs >= 0 ? timestampMs : null]);
        continue;
      }
      const [first, last] = await bothEnds(client, name, partitions);
      partitions.forEach((partition, i) => {
        rows.push([name, partition, first[i], last[i], (last[i] ?? 0) - (first[i] ?? 0)]);
      });
    }
    const columns = start
      ? ["topic", "partition", "offset", "timestamp"]
      : ["topic", "partition", "start", "end", "records"];
    await printList(io, flags.format, columns, rows);
    return 0;
  });
}

async function chosenPartitions(client: KafkaClient, topic: string, texts: string[] | undefined): Promise<number[]> {
  const all = (await client.topic(topic)).partitions.map(({ partitionIndex }) => partitionIndex).sort((a, b) => a - b);
  return texts ? parsePartitions(texts) : all;
}

/** Resolves a start in the grammar of -o for each partition. A time after the last record is the end. */
export async function offsetsAt(
  client: KafkaClient,
  topic: string,
  partitions: number[],
  start: Start,
): Promise<{ partition: number; offset: number; timestampMs: number }[]> {
  const [first, last] = await bothEnds(client, topic, partitions);
  const timed =
    start.kind === "time"
      ? await listOffsets(
          client,
          partitions.map((partition) => ({ topic, partition, time: BigInt(start.ms) })),
        )
      : undefined;
  return partitions.map((partition, i) => {
    const [low, high] = [first[i] ?? 0, last[i] ?? 0];
    const found = timed?.[i];
    if (found) return { partition, offset: found.offset < 0 ? high : found.offset, timestampMs: found.timestampMs };
    if (start.kind === "offset") return { partition, offset: start.offset, timestampMs: -1 };
    if (start.kind === "end") return { partition, offset: Math.max(low, high - start.back), timestampMs: -1 };
    return { partition, offset: start.kind === "beginning" ? Math.min(high, low + start.plus) : low, timestampMs: -1 };
  });
}

function keyValue(text: string, flag: string): [string, string] {
  const at = text.indexOf("=");
  if (at <= 0) throw new UsageError(`${flag}: "${text}" is not KEY=VALUE`);
  return [text.slice(0, at), text.slice(at + 1)];
}

function wholeNumber(text: string, flag: string): number {
  if (!/^(-1|\d{1,9})$/.test(text)) throw new UsageError(`${flag}: "${text}" is not a number`);
  return Number(text);
}
