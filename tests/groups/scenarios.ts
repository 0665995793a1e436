/**
 * Conversations with a group coordinator, and what it answered, in a form that can be compared between servers: made-up ids are
 * numbered in order of appearance, lists without a promised order are sorted.
 */
import { errorName } from "../../src/base/kafka_error.ts";
import { type Uuid, zeroUuid } from "../../src/base/uuid.ts";
import { newCreateTopicsRequest } from "../../src/protocol/generated/create_topics_request.ts";
import { newDeleteTopicsRequest } from "../../src/protocol/generated/delete_topics_request.ts";
import type { ApiKey, RequestOf, ResponseOf } from "../../src/protocol/generated/index.ts";
import { type JoinGroupRequest, newJoinGroupRequest } from "../../src/protocol/generated/join_group_request.ts";
import { newMetadataRequest } from "../../src/protocol/generated/metadata_request.ts";
import { newOffsetCommitRequest } from "../../src/protocol/generated/offset_commit_request.ts";
import { newOffsetFetchRequest } from "../../src/protocol/generated/offset_fetch_request.ts";
import { newSyncGroupRequest, type SyncGroupRequest } from "../../src/protocol/generated/sync_group_request.ts";
import { Wire } from "../harness/wire.ts";
import { bytes, subscription } from "./helpers.ts";

const apiNames: Record<number, string> = {
  8: "OffsetCommit",
  9: "OffsetFetch",
  11: "JoinGroup",
  12: "Heartbeat",
  13: "LeaveGroup",
  14: "SyncGroup",
  15: "DescribeGroups",
  16: "ListGroups",
  42: "DeleteGroups",
  47: "OffsetDelete",
};

export interface Line {
  what: string;
  answer: unknown;
}

export class Conversation {
  readonly lines: Line[] = [];
  readonly groupId: string;
  private readonly port: number;
  private readonly wires: Wire[] = [];
  private readonly topicIds: Map<Uuid, string>;
  private readonly members = new Map<string, string>();

  constructor(port: number, groupId: string, topicIds: Map<Uuid, string>) {
    this.port = port;
    this.groupId = groupId;
    this.topicIds = topicIds;
  }

  portOf(): number {
    return this.port;
  }

  topicId(name: string): Uuid {
    for (const [id, known] of this.topicIds) if (known === name) return id;
    return zeroUuid;
  }

  /** Sends on a connection of its own, so that nothing waits behind a join. */
  async call<K extends ApiKey>(key: K, version: number, body: RequestOf<K>, note = ""): Promise<ResponseOf<K>> {
    const wire = await Wire.open(this.port);
    this.wires.push(wire);
    const line: Line = { what: `${apiNames[key]} ${version}${note && `, ${note}`}`, answer: null };
    this.lines.push(line);
    const answer = await wire.call(key, version, body);
    line.answer = this.plain(answer);
    return answer;
  }

  join(version: number, from: Partial<JoinGroupRequest> = {}, note = "") {
    const defaults = {
      groupId: this.groupId,
      sessionTimeoutMs: 30_000,
      rebalanceTimeoutMs: version > 0 ? 30_000 : -1,
      protocolType: "consumer",
      protocols: [{ name: "range", metadata: subscription("t") }],
    };
    return this.call(11, version, newJoinGroupRequest({ ...defaults, ...from }), note);
  }

  /** A new dynamic member, with or without the step that gives it an id. */
  async enter(version: number, from: Partial<JoinGroupRequest> = {}, note = "") {
    const first = await this.join(version, from, note);
    return errorName(first.errorCode) === "MEMBER_ID_REQUIRED"
      ? await this.join(version, { ...from, memberId: first.memberId }, `${note} with its id`)
      : first;
  }

  sync(version: number, memberId: string, generationId: number, from: Partial<SyncGroupRequest> = {}, note = "") {
    const names = version >= 5 ? { protocolType: "consumer", protocolName: "range" } : {};
    const request = newSyncGroupRequest({ groupId: this.groupId, memberId, generationId, ...names, ...from });
    return this.call(14, version, request, note);
  }

  /** The leader's sync that gives each member its own name. */
  lead(
    version: number,
    memberId: string,
    generationId: number,
    others: string[] = [],
    from: Partial<SyncGroupRequest> = {},
  ) {
    const assignments = [memberId, ...others].map((id, index) => ({
      memberId: id,
      assignment: bytes(`part ${index}`),
    }));
    return this.sync(version, memberId, generationId, { assignments, ...from }, "leader");
  }

  beat(version: number, memberId: string, generationId: number, groupInstanceId: string | null = null, note = "") {
    return this.call(12, version, { groupId: this.groupId, memberId, generationId, groupInstanceId }, note);
  }

  leave(version: number, members: { memberId?: string; groupInstanceId?: string }[], note = "") {
    const memberId = version <= 2 ? (members[0]?.memberId ?? "") : "";
    const list = members.map((one) => ({ memberId: "", groupInstanceId: null, reason: null, ...one }));
    return this.call(13, version, { groupId: this.groupId, memberId, members: version > 2 ? list : [] }, note);
  }

  describe(version: number, note = "", includeAuthorizedOperations = false) {
    return this.call(15, version, { groups: [this.groupId], includeAuthorizedOperations }, note);
  }

  commit(
    version: number,
    partitions: Record<number, number>,
    from: {
      memberId?: string;
      generation?: number;
      topic?: string;
      topicId?: Uuid;
      metadata?: string | null;
      instance?: string;
      groupId?: string;
    } = {},
    note = "",
  ) {
    const topic = from.topic ?? "t";
    const { metadata = null } = from;
    const list = Object.entries(partitions).map(([partition, offset]) => ({
      partitionIndex: Number(partition),
      committedOffset: BigInt(offset),
      committedLeaderEpoch: version >= 6 ? 0 : -1,
      committedMetadata: metadata,
    }));
    const request = newOffsetCommitRequest({
      groupId: from.groupId ?? this.groupId,
      memberId: from.memberId ?? "",
      generationIdOrMemberEpoch: from.generation ?? -1,
      groupInstanceId: from.instance ?? null,
      topics: [{ name: topic, topicId: from.topicId ?? this.topicId(topic), partitions: list }],
    });
    return this.call(8, version, request, note);
  }

  fetch(
    version: number,
    topics: { name: string; topicId?: Uuid; partitionIndexes: number[] }[] | null,
    note = "",
    { groupId = this.groupId, requireStable = false } = {},
  ) {
    const named = topics?.map((one) => ({ topicId: this.topicId(one.name), ...one })) ?? null;
    const request =
      version < 8
        ? newOffsetFetchRequest({ groupId, topics: named, requireStable })
        : newOffsetFetchRequest({
            groups: [{ groupId, memberId: null, memberEpoch: -1, topics: named }],
            requireStable,
          });
    return this.call(9, version, request, note);
  }

  deleteGroup(version = 2, note = "") {
    return this.call(42, version, { groupsNames: [this.groupId] }, note);
  }

  deleteOffsets(topic: string, partitions: number[], note = "") {
    const list = partitions.map((partitionIndex) => ({ partitionIndex }));
    return this.call(47, 0, { groupId: this.groupId, topics: [{ name: topic, partitions: list }] }, note);
  }

  /** Only this conversation's group of the list. */
  async list(version: number, filter: { states?: string[]; types?: string[] } = {}, note = "") {
    const wire = await Wire.open(this.port);
    this.wires.push(wire);
    const answer = await wire.call(16, version, { statesFilter: filter.states ?? [], typesFilter: filter.types ?? [] });
    const groups = answer.groups.filter((group) => group.groupId === this.groupId);
    this.lines.push({ what: `ListGroups ${version}${note && `, ${note}`}`, answer: this.plain({ ...answer, groups }) });
  }

  close(): void {
    for (const wire of this.wires) wire.close();
  }

  private plain(value: unknown): unknown {
    if (typeof value === "bigint") return Number(value);
    if (value === this.groupId) return "the group";
    if (typeof value === "string")
      return this.topicIds.get(value) ?? this.memberName(value.replace(this.groupId, "ID"));
    if (value instanceof Uint8Array)
      return Buffer.from(value)
        .toString("latin1")
        .replace(/[^ -~]/g, ".");
    if (Array.isArray(value)) return value.map((one) => this.plain(one)).sort(byText);
    if (typeof value !== "object" || value === null) return value;
    const entries = Object.entries(value).filter(([key]) => key !== "throttleTimeMs");
    return Object.fromEntries(
      entries.map(([key, one]) => [key, key === "errorCode" ? errorName(one as number) : this.plain(one)]),
    );
  }

  private memberName(text: string): string {
    return text.replace(/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g, (id) => {
      const name = this.members.get(id) ?? `#${this.members.size + 1}`;
      this.members.set(id, name);
      return name;
    });
  }
}

function byText(left: unknown, right: unknown): number {
  const a = JSON.stringify(left);
  const b = JSON.stringify(right);
  return a < b ? -1 : a > b ? 1 : 0;
}

/** Each tells one story in a group of its own. */
export const scenarios: Record<string, (talk: Conversation) => Promise<void>> = {
  "an unknown group": async (talk) => {
    await talk.sync(5, "nobody", 1);
    await talk.beat(4, "nobody", 1);
    for (let version = 0; version <= 5; version++) await talk.leave(version, [{ memberId: "nobody" }]);
    await talk.leave(5, [{ memberId: "a" }, { memberId: "", groupInstanceId: "i" }], "two members");
    await talk.leave(5, [], "no members");
    for (const version of [0, 3, 4, 5, 6]) await talk.describe(version, "", version >= 3);
    for (let version = 1; version <= 10; version++)
      await talk.fetch(version, [{ name: "t", partitionIndexes: [0, 7] }]);
    for (let version = 2; version <= 10; version++) await talk.fetch(version, null, "all");
    for (let version = 0; version <= 3; version++) await talk.deleteGroup(version);
    await talk.deleteOffsets("t", [0]);
    for (const version of [2, 8, 9, 10]) await talk.commit(version, { 0: 1 }, { memberId: "nobody", generation: 1 });
    await talk.join(9, { memberId: "nobody" });
  },
  "refused joins": async (talk) => {
    for (const version of [0, 5, 9]) await talk.join(version, { groupId: "" }, "no group id");
    await talk.join(9, { sessionTimeoutMs: 5_999 }, "too short a session");
    await talk.join(9, { sessionTimeoutMs: 1_800_001 }, "too long a session");
    await talk.join(9, { protocols: [] }, "no protocols");
    await talk.join(9, { protocolType: "" }, "no protocol type");
    await talk.describe(5);
    await talk.list(5);
    await talk.join(9, { memberId: "nobody" }, "an id nobody gave");
    const { memberId } = await talk.join(9, {}, "a new member");
    await talk.join(9, { memberId, groupInstanceId: "i" }, "a promised id with an instance id");
    await talk.beat(4, memberId, -1);
    await talk.enter(9);
    await talk.join(9, { protocolType: "connect" }, "another protocol type");
    await talk.join(9, { protocols: [{ name: "other", metadata: bytes("x") }] }, "no common protocol");
    await talk.join(6, { protocolType: "connect", memberId }, "another protocol type, by id");
  },
  ...Object.fromEntries(
    Array.from({ length: 10 }, (_, version) => [
      `a member's life with JoinGroup ${version}`,
      async (talk: Conversation) => {
        const { memberId, generationId } = await talk.enter(version);
        const sync = Math.min(version, 5);
        const beat = Math.min(version, 4);
        const describe = Math.min(version, 6);
        await talk.describe(describe, "before the sync");
        await talk.beat(beat, memberId, generationId, null, "before the sync");
        await talk.lead(sync, memberId, generationId, []);
        await talk.describe(describe, "", version >= 3);
        await talk.list(Math.min(version, 5));
        await talk.beat(beat, memberId, generationId);
        await talk.beat(beat, memberId, generationId + 1, null, "a wrong generation");
        await talk.beat(beat, "nobody", generationId, null, "a wrong member");
        await talk.sync(sync, memberId, generationId, {}, "again");
        await talk.sync(sync, memberId, generationId - 1, {}, "a wrong generation");
        await talk.leave(Math.min(version, 5), [{ memberId }]);
        await talk.leave(Math.min(version, 5), [{ memberId }], "again");
        await talk.describe(describe, "empty");
        await talk.beat(beat, memberId, generationId, null, "empty");
        await talk.sync(sync, memberId, generationId, {}, "empty");
        await talk.join(version, { memberId }, "by its old id");
        await talk.deleteGroup(Math.min(version, 3));
        await talk.describe(describe, "deleted");
      },
    ]),
  ),
  "two members": async (talk) => {
    const one = await talk.enter(9, {}, "the first");
    await talk.lead(5, one.memberId, 1);
    const promised = await talk.join(9, {}, "the second");
    await talk.beat(4, one.memberId, 1, null, "while an id is promised");
    const joining = talk.join(9, { memberId: promised.memberId }, "the second with its id");
    await Bun.sleep(50);
    await talk.beat(4, one.memberId, 1);
    await talk.sync(5, one.memberId, 1, {}, "while preparing");
    await talk.commit(9, { 0: 1 }, { memberId: one.memberId, generation: 1 }, "while preparing");
    await talk.describe(5, "while preparing");
    await talk.deleteGroup(2, "while preparing");
    const again = await talk.join(9, { memberId: one.memberId }, "the first again");
    await joining;
    await talk.commit(9, { 0: 2 }, { memberId: one.memberId, generation: 2 }, "while completing");
    await talk.commit(9, { 0: 2 }, { memberId: one.memberId, generation: 1 }, "of the last generation");
    await talk.join(9, { memberId: promised.memberId }, "the second again, nothing new");
    await talk.join(9, { memberId: one.memberId }, "the leader again, nothing new");
    const waiting = talk.sync(5, promised.memberId, again.generationId, {}, "the second");
    await Bun.sleep(50);
    await talk.lead(5, one.memberId, again.generationId, [promised.memberId]);
    await waiting;
    await talk.describe(5);
    await talk.join(9, { memberId: promised.memberId }, "the second while stable, nothing new");
    await talk.sync(5, promised.memberId, 2, { protocolType: "connect" }, "wrong protocol type");
    await talk.sync(5, promised.memberId, 2, { protocolName: "sticky" }, "wrong protocol name");
    await talk.sync(5, promised.memberId, 2, { protocolType: null, protocolName: null }, "no protocol");
    await talk.sync(4, promised.memberId, 2, {}, "no protocol, before it had to be given");
    await talk.sync(3, promised.memberId, 2, { groupInstanceId: "i" }, "an instance id it does not have");
    await talk.leave(5, [{ memberId: promised.memberId }, { memberId: "nobody" }], "the second and nobody");
    await talk.beat(4, one.memberId, 2);
    await talk.join(9, { memberId: one.memberId }, "the first alone");
    await talk.leave(5, [{ memberId: one.memberId }]);
  },
  "a changed subscription rebalances": async (talk) => {
    const one = await talk.enter(9);
    await talk.lead(5, one.memberId, 1);
    const changed = [{ name: "range", metadata: subscription("t", "u") }];
    await talk.join(9, { memberId: one.memberId, protocols: changed }, "the leader changes");
    await talk.join(9, { memberId: one.memberId }, "and back while completing");
    await talk.sync(5, one.memberId, 3, {}, "without assignments");
    await talk.describe(5);
  },
  "votes for a protocol": async (talk) => {
    const offer = (...names: string[]) => names.map((name) => ({ name, metadata: bytes(name) }));
    const one = await talk.enter(9, { protocols: offer("a", "b", "c") });
    await talk.lead(5, one.memberId, 1, [], { protocolName: "a" });
    const { memberId } = await talk.join(9, { protocols: offer("b", "a") }, "the second");
    const second = talk.join(9, { memberId, protocols: offer("b", "a") }, "the second");
    await Bun.sleep(50);
    await talk.join(9, { memberId: one.memberId, protocols: offer("b", "a", "c") }, "the first changes its mind");
    await second;
    await talk.join(9, { protocols: offer("c") }, "a protocol that not all have");
  },
  "static members": async (talk) => {
    const one = await talk.join(9, { groupInstanceId: "i1" }, "the first");
    await talk.lead(5, one.memberId, 1, [], { groupInstanceId: "i1" });
    await talk.describe(4);
    await talk.beat(4, one.memberId, 1, "i1");
    await talk.beat(4, one.memberId, 1, "i2", "another instance");
    await talk.beat(4, one.memberId, 1, null, "no instance");
    const eighth = await talk.join(8, { groupInstanceId: "i1" }, "restarted");
    const ninth = await talk.join(9, { groupInstanceId: "i1" }, "restarted again");
    await talk.sync(5, ninth.memberId, 1, { groupInstanceId: "i1" });
    await talk.describe(5);
    await talk.beat(4, one.memberId, 1, "i1", "the former self");
    await talk.beat(4, one.memberId, 1, null, "the former self without instance");
    await talk.sync(5, eighth.memberId, 1, { groupInstanceId: "i1" }, "a former self");
    await talk.join(9, { memberId: eighth.memberId, groupInstanceId: "i1" }, "a former self");
    await talk.commit(9, { 0: 1 }, { memberId: eighth.memberId, generation: 1, instance: "i1" }, "a former self");
    await talk.commit(9, { 0: 1 }, { memberId: ninth.memberId, generation: 1, instance: "i1" });
    await talk.leave(5, [{ memberId: eighth.memberId, groupInstanceId: "i1" }], "a former self");
    const other = [{ name: "sticky", metadata: bytes("s") }];
    await talk.join(9, { groupInstanceId: "i1", protocols: other }, "restarted with another protocol");
    const changed = [{ name: "range", metadata: subscription("t", "u") }, ...other];
    const last = await talk.join(9, { groupInstanceId: "i1", protocols: changed }, "restarted with one more");
    await talk.describe(5);
    await talk.leave(5, [{ groupInstanceId: "i1" }, { groupInstanceId: "i9" }, {}], "by instance id");
    await talk.beat(4, last.memberId, 1, "i1", "removed");
    await talk.describe(5);
  },
  "a static member returns while its twin waits": async (talk) => {
    const leader = await talk.enter(9);
    await talk.lead(5, leader.memberId, 1);
    const first = talk.join(9, { groupInstanceId: "i1" }, "the first twin");
    await Bun.sleep(50);
    const second = talk.join(9, { groupInstanceId: "i1" }, "the second twin");
    await first;
    await talk.join(9, { memberId: leader.memberId }, "the leader");
    const twin = await second;
    const synced = talk.sync(5, twin.memberId, 2, { groupInstanceId: "i1" }, "the second twin");
    await Bun.sleep(50);
    const third = talk.join(9, { groupInstanceId: "i1" }, "a third twin while completing");
    await synced;
    await talk.beat(4, leader.memberId, 2);
    await talk.join(9, { memberId: leader.memberId }, "the leader again");
    await third;
  },
  "commits in every version": async (talk) => {
    for (let version = 2; version <= 10; version++) await talk.commit(version, { 0: version, 1: 10 * version });
    await talk.commit(9, { 0: 3, 7: 4 }, {}, "an unknown partition");
    await talk.commit(9, { 0: 3 }, { topic: "missing" }, "an unknown topic");
    await talk.commit(10, { 0: 3 }, { topicId: "u38N1oNgTUq1fMCQCTIrnA" }, "an unknown topic id");
    await talk.commit(9, { 0: -5 }, {}, "a negative offset");
    await talk.commit(9, { 2: 1 }, { metadata: "m".repeat(4_096) }, "much metadata");
    await talk.commit(9, { 2: 2 }, { metadata: "m".repeat(4_097) }, "too much metadata");
    await talk.commit(9, { 2: 3 }, { metadata: "ö" }, "metadata");
    await talk.commit(9, { 0: 9 }, { memberId: "nobody" }, "a member of an empty group");
    await talk.commit(9, { 0: 9 }, { memberId: "nobody", generation: 0 }, "a generation of an empty group");
    await talk.commit(9, { 0: 9 }, { instance: "i" }, "an instance of an empty group");
    for (let version = 1; version <= 10; version++) {
      await talk.fetch(version, [
        { name: "t", partitionIndexes: [0, 1, 2, 7] },
        { name: "missing", partitionIndexes: [0] },
      ]);
    }
    for (let version = 2; version <= 10; version++) await talk.fetch(version, null, "all");
    await talk.fetch(8, [], "no topics");
    await talk.fetch(
      10,
      [{ name: "", topicId: "u38N1oNgTUq1fMCQCTIrnA", partitionIndexes: [0] }],
      "an unknown topic id",
    );
    await talk.fetch(9, null, "stable", { requireStable: true });
    await talk.describe(5);
    for (let version = 0; version <= 5; version++) await talk.list(version);
    await talk.list(5, { states: ["empty"] }, "empty");
    await talk.list(5, { states: ["STABLE", " Empty "] }, "stable or empty");
    await talk.list(5, { states: ["Stable"] }, "stable");
    await talk.list(5, { types: ["classic"] }, "classic");
    await talk.list(5, { types: ["consumer"] }, "consumer");
    await talk.list(5, { types: ["nonsense"] }, "nonsense");
    await talk.deleteOffsets("t", [0, 7], "and a partition that is not there");
    await talk.deleteOffsets("missing", [0], "an unknown topic");
    await talk.fetch(8, null, "all");
    await talk.deleteGroup();
    await talk.fetch(8, null, "deleted");
  },
  "commits around members": async (talk) => {
    const { memberId } = await talk.enter(9);
    await talk.commit(9, { 0: 1 }, { memberId, generation: 1 }, "before the sync");
    await talk.lead(5, memberId, 1);
    await talk.commit(9, { 0: 1 }, { memberId, generation: 1 });
    await talk.commit(9, { 0: 2 }, { memberId, generation: 0 }, "an old generation");
    await talk.commit(9, { 0: 2 }, { memberId, generation: 2 }, "a future generation");
    await talk.commit(9, { 0: 2 }, { memberId: "nobody", generation: 1 }, "nobody");
    await talk.commit(9, { 0: 2 }, {}, "no member");
    await talk.commit(9, { 0: 2 }, { memberId }, "no generation");
    await talk.commit(9, { 0: 2 }, { generation: 1 }, "no member, but a generation");
    await talk.commit(9, { 0: 2 }, { memberId, generation: 1, instance: "i" }, "an instance it does not have");
    await talk.commit(9, { 0: 5 }, { topic: "u", memberId, generation: 1 }, "a topic not subscribed");
    await talk.deleteOffsets("t", [0], "subscribed");
    await talk.deleteOffsets("u", [0], "not subscribed");
    await talk.deleteGroup();
    await talk.fetch(8, null, "all");
  },
  "a group of another kind": async (talk) => {
    const offer = { protocolType: "connect", protocols: [{ name: "sessioned", metadata: bytes("config") }] };
    const { memberId } = await talk.enter(9, offer);
    await talk.lead(5, memberId, 1, [], { protocolType: "connect", protocolName: "sessioned" });
    await talk.describe(5);
    await talk.list(5);
    await talk.deleteOffsets("t", [0]);
    await talk.leave(5, [{ memberId }]);
    await talk.list(5);
    await talk.deleteOffsets("t", [0]);
    await talk.join(3, {}, "a consumer into the empty group");
  },
  "leaving while waiting": async (talk) => {
    const one = await talk.enter(9);
    await talk.lead(5, one.memberId, 1);
    const promised = await talk.join(9, {}, "the second");
    await talk.leave(4, [{ memberId: promised.memberId }], "a promised id");
    await talk.beat(4, one.memberId, 1);
    await talk.join(9, { memberId: promised.memberId }, "a promise taken back");
    const again = await talk.join(9, { memberId: one.memberId }, "the first again");
    await talk.lead(5, one.memberId, again.generationId);
    const waiting = talk.join(9, { groupInstanceId: "i2" }, "a static one waits");
    await Bun.sleep(50);
    await talk.leave(5, [{ groupInstanceId: "i2" }], "the one that waits");
    await waiting;
    const last = await talk.join(9, { memberId: one.memberId }, "the first again");
    await talk.lead(5, one.memberId, last.generationId);
    await talk.leave(0, [{ memberId: one.memberId }], "version 0");
    await talk.leave(2, [{ memberId: one.memberId }], "version 2");
    await talk.describe(5);
  },
  "the empty group id": async (talk) => {
    await talk.commit(9, { 0: 4 }, { groupId: "" });
    await talk.fetch(8, null, "all", { groupId: "" });
    await talk.call(15, 5, { groups: [""], includeAuthorizedOperations: false });
    await talk.call(47, 0, { groupId: "", topics: [] });
    await talk.call(14, 5, newSyncGroupRequest({ memberId: "m" }), "no protocol");
    await talk.call(14, 4, newSyncGroupRequest({ memberId: "m" }));
    await talk.call(12, 4, { groupId: "", memberId: "m", generationId: 1, groupInstanceId: null });
    await talk.call(13, 5, {
      groupId: "",
      memberId: "",
      members: [{ memberId: "m", groupInstanceId: null, reason: null }],
    });
    await talk.call(13, 1, { groupId: "", memberId: "m", members: [] });
    await talk.call(42, 2, { groupsNames: [""] });
    await talk.call(42, 2, { groupsNames: [""] }, "again");
  },
  "a deleted topic": async (talk) => {
    await talk.commit(9, { 0: 4 }, { topic: "gone" });
    await talk.commit(10, { 0: 5 });
    const wire = await Wire.open(talk.portOf());
    await wire.call(
      20,
      6,
      newDeleteTopicsRequest({ topics: [{ name: "gone", topicId: zeroUuid }], timeoutMs: 10_000 }),
    );
    wire.close();
    await Bun.sleep(500);
    await talk.fetch(9, null, "all");
    await talk.fetch(10, null, "all");
    await talk.fetch(9, [{ name: "gone", partitionIndexes: [0] }], "the topic");
    await talk.deleteGroup();
  },
};

/** Plays every scenario against a server; groups and topics get the prefix. */
export async function playAll(port: number, prefix: string): Promise<Record<string, Line[]>> {
  const wire = await Wire.open(port);
  const topics = ["t", "u", "gone"].map((name) => ({
    name,
    numPartitions: 3,
    replicationFactor: 1,
    assignments: [],
    configs: [],
  }));
  await wire.call(19, 7, newCreateTopicsRequest({ topics, timeoutMs: 10_000 }));
  const metadata = await wire.call(
    3,
    12,
    newMetadataRequest({ topics: topics.map(({ name }) => ({ name, topicId: zeroUuid })) }),
  );
  wire.close();
  const topicIds = new Map(metadata.topics.map((topic) => [topic.topicId, topic.name!]));
  const played: Record<string, Line[]> = {};
  for (const [name, scenario] of Object.entries(scenarios)) {
    const talk = new Conversation(port, `${prefix}-${Object.keys(played).length}`, topicIds);
    try {
      await scenario(talk);
    } finally {
      talk.close();
    }
    played[name] = talk.lines;
  }
  return played;
}
