/** `group list|describe|seek|delete`: consumer groups, their lag, and moving their offsets. */
import type { KafkaClient } from "../client/client.ts";
import { decodeAssignment } from "../client/group_member.ts";
import {
  commitOffsets,
  deleteGroup,
  describeGroup,
  fetchOffsets,
  type GroupOffset,
  listGroups,
} from "../client/groups.ts";
import { listOffsets, offsetTimes } from "../client/offsets.ts";
import { CliError, type Io, UsageError } from "./io.ts";
import { withClient } from "./kafka_flags.ts";
import { parseOffset, type Start } from "./offset_grammar.ts";
import { printList } from "./output.ts";
import { type ListFlags, offsetsAt } from "./topics.ts";

export function groupList(flags: ListFlags & { states?: string }, io: Io): Promise<number> {
  const states = flags.states?.split(",").map((state) => state.trim().toLowerCase());
  return withClient(flags, io, async (client) => {
    const groups = (await listGroups(client)).filter(({ state }) => !states || states.includes(state.toLowerCase()));
    const rows = groups.map(({ broker, group, state, protocolType }) => [broker, group, state, protocolType]);
    await printList(io, flags.format, ["broker", "group", "state", "protocol_type"], rows);
    return 0;
  });
}

interface LagRow {
  topic: string;
  partition: number;
  committed: number | null;
  end: number | null;
  lag: number | null;
  member: string | null;
  clientId: string | null;
  host: string | null;
}

export function groupDescribe(
  names: string[],
  flags: ListFlags & { printSummary?: boolean; lagOnly?: boolean },
  io: Io,
): Promise<number> {
  return withClient(flags, io, async (client) => {
    const all = [];
    for (const name of names) all.push(await describe(client, name));
    if (flags.format === "json" || flags.format === "ndjson") {
      const text =
        flags.format === "json"
          ? `${JSON.stringify(all, null, 2)}\n`
          : all.map((group) => `${JSON.stringify(group)}\n`).join("");
      await io.out(text);
      return 0;
    }
    for (const group of all) {
      if (flags.format === "table" && !flags.lagOnly) {
        await io.out(
          `GROUP        ${group.group}\nCOORDINATOR  ${group.coordinator}\nSTATE        ${group.state}\n` +
            `BALANCER     ${group.protocol}\nMEMBERS      ${group.members}\nTOTAL-LAG    ${group.total_lag}\n`,
        );
        if (flags.printSummary) continue;
        await io.out("\n");
      }
      const columns = [
        "topic",
        "partition",
        "current_offset",
        "log_end_offset",
        "lag",
        "member_id",
        "client_id",
        "host",
      ];
      const rows = group.partitions.map((row) => Object.values(row));
      await printList(io, flags.format, columns, rows);
    }
    return 0;
  });
}

async function describe(client: KafkaClient, name: string) {
  const group = await describeGroup(client, name);
  const committed = await fetchOffsets(client, name);
  if (group.groupState === "Dead" && committed.length === 0)
    throw new CliError(`there is no group "${name}"; rowlog group list shows those that there are`);
  const rows = new Map<string, LagRow>();
  const row = (topic: string, partition: number): LagRow => {
    const key = `${topic}\u0000${partition}`;
    const known = rows.get(key);
    if (known) return known;
    const fresh = { topic, partition, committed: null, end: null, lag: null, member: null, clientId: null, host: null };
    rows.set(key, fresh);
    return fresh;
  };
  for (const { topic, partition, offset } of committed) row(topic, partition).committed = offset;
  if (group.protocolType === "consumer" || group.protocolType === "")
    for (const member of group.members)
      for (const { topic, partition } of decodeAssignment(member.memberAssignment))
        Object.assign(row(topic, partition), {
          member: member.memberId,
          clientId: member.clientId,
          host: member.clientHost,
        });
  for (const entry of rows.values()) {
    entry.end = await endOf(client, entry.topic, entry.partition);
    if (entry.end !== null && entry.committed !== null) entry.lag = Math.max(0, entry.end - entry.committed);
  }
  const partitions = [...rows.values()].sort((a, b) =>
    a.topic === b.topic ? a.partition - b.partition : a.topic < b.topic ? -1 : 1,
  );
  return {
    group: name,
    coordinator: await client.coordinator(name),
    state: group.groupState,
    protocol: group.protocolData,
    members: group.members.length,
    total_lag: partitions.reduce((sum, entry) => sum + (entry.lag ?? 0), 0),
    partitions,
  };
}

/** Null when the topic or partition is gone. */
async function endOf(client: KafkaClient, topic: string, partition: number): Promise<number | null> {
  try {
    return (await listOffsets(client, [{ topic, partition, time: offsetTimes.latest }]))[0]?.offset ?? null;
  } catch {
    return null;
  }
}

export interface SeekFlags extends ListFlags {
  to?: string;
  toGroup?: string;
  topics?: string;
  allowNewTopics?: boolean;
  toEarliest?: boolean;
  toLatest?: boolean;
  toOffset?: string;
  toDatetime?: string;
  shiftBy?: string;
  dryRun?: boolean;
}

/** rpk's `--to` and `--to-group`, and the words of kafka-consumer-groups --reset-offsets. The group must have no members. */
export function groupSeek(name: string, flags: SeekFlags, io: Io): Promise<number> {
  const target = seekTarget(flags);
  return withClient(flags, io, async (client) => {
    const before = await fetchOffsets(client, name);
    const places = await seekPlaces(client, before, flags);
    const wanted: GroupOffset[] = [];
    if (target.kind === "group") {
      const other = await fetchOffsets(client, target.group);
      if (other.length === 0) throw new CliError(`group "${target.group}" has no committed offsets`);
      wanted.push(...other.filter((entry) => places.size === 0 || places.has(entry.topic)));
    } else
      for (const [topic, partitions] of places)
        wanted.push(...(await seekTopic(client, before, topic, partitions, target)));
    if (wanted.length === 0)
      throw new CliError(`group "${name}" has no committed offsets; name topics with --topics to make some`);
    wanted.sort((a, b) => (a.topic === b.topic ? a.partition - b.partition : a.topic < b.topic ? -1 : 1));
    if (!flags.dryRun) await commitOffsets(client, name, wanted);
    const rows = wanted.map(({ topic, partition, offset }) => {
      const old = before.find((entry) => entry.topic === topic && entry.partition === partition);
      return [topic, partition, old?.offset ?? null, offset];
    });
    await printList(
      io,
      flags.format,
      ["topic", "partition", "prior_offset", flags.dryRun ? "would_be" : "current_offset"],
      rows,
    );
    return 0;
  });
}

type SeekTarget = { kind: "group"; group: string } | { kind: "shift"; by: number } | { kind: "start"; start: Start };

function seekTarget(flags: SeekFlags): SeekTarget {
  const given: SeekTarget[] = [];
  const start = (text: string, flag: string): SeekTarget => {
    const found = parseOffset(text).start;
    if (!found) throw new UsageError(`${flag}: "${text}" does not name one place`);
    return { kind: "start", start: found };
  };
  if (flags.to !== undefined) given.push(start(/^\d{9,13}$/.test(flags.to) ? `@${flags.to}` : flags.to, "--to"));
  if (flags.toGroup !== undefined) given.push({ kind: "group", group: flags.toGroup });
  if (flags.toEarliest) given.push(start("start", "--to-earliest"));
  if (flags.toLatest) given.push(start("end", "--to-latest"));
  if (flags.toOffset !== undefined) given.push(start(flags.toOffset, "--to-offset"));
  if (flags.toDatetime !== undefined) given.push(start(`@${flags.toDatetime}`, "--to-datetime"));
  if (flags.shiftBy !== undefined) {
    if (!/^[+-]?\d{1,15}$/.test(flags.shiftBy)) throw new UsageError(`--shift-by: "${flags.shiftBy}" is not a number`);
    given.push({ kind: "shift", by: Number(flags.shiftBy) });
  }
  const target = given[0];
  if (!target || given.length > 1)
    throw new UsageError("say once where to: --to start|end|OFFSET|@TIME, --to-group GROUP or --shift-by N");
  return target;
}

async function seekPlaces(
  client: KafkaClient,
  before: GroupOffset[],
  flags: SeekFlags,
): Promise<Map<string, number[]>> {
  const places = new Map<string, number[]>();
  if (flags.topics === undefined) {
    for (const { topic, partition } of before) places.set(topic, [...(places.get(topic) ?? []), partition]);
    return places;
  }
  for (const topic of flags.topics.split(",").map((name) => name.trim())) {
    const partitions = (await client.topic(topic)).partitions.map(({ partitionIndex }) => partitionIndex);
    places.set(
      topic,
      partitions.sort((a, b) => a - b),
    );
  }
  return places;
}

async function seekTopic(
  client: KafkaClient,
  before: GroupOffset[],
  topic: string,
  partitions: number[],
  target: Exclude<SeekTarget, { kind: "group" }>,
): Promise<GroupOffset[]> {
  const [low, high] = [
    await offsetsAt(client, topic, partitions, { kind: "beginning", plus: 0 }),
    await offsetsAt(client, topic, partitions, { kind: "end", back: 0 }),
  ];
  const found = target.kind === "start" ? await offsetsAt(client, topic, partitions, target.start) : undefined;
  return partitions.flatMap((partition, i) => {
    const old = before.find((entry) => entry.topic === topic && entry.partition === partition);
    const shifted = target.kind === "shift" && old ? old.offset + target.by : undefined;
    const offset = found?.[i]?.offset ?? shifted;
    if (offset === undefined) return [];
    // As kafka-consumer-groups does: a place outside of the log becomes its nearest end.
    return [{ topic, partition, offset: Math.min(Math.max(offset, low[i]?.offset ?? 0), high[i]?.offset ?? offset) }];
  });
}

export function groupDelete(names: string[], flags: ListFlags, io: Io): Promise<number> {
  return withClient(flags, io, async (client) => {
    const rows: unknown[][] = [];
    let failed = false;
    for (const name of names) {
      try {
        await deleteGroup(client, name);
        rows.push([name, "OK"]);
      } catch (error) {
        failed = true;
        rows.push([name, (error as Error).message]);
      }
    }
    await printList(io, flags.format, ["group", "status"], rows);
    return failed ? 1 : 0;
  });
}
