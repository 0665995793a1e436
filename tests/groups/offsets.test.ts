/** Committed offsets: what is allowed, what survives, what expires (cases C58). */
import { describe, expect, test } from "bun:test";
import { errorName, KafkaError } from "../../src/base/kafka_error.ts";
import { type KeyedRecord, MemoryOffsetsLog, partitionOfGroup } from "../../src/groups/offsets_log.ts";
import { caller, Lab, settle } from "./helpers.ts";

const dayMs = 24 * 60 * 60 * 1000;

/** A log whose writes are held back until the test lets them go, or fail. */
class SlowLog extends MemoryOffsetsLog {
  held: ((error?: Error) => void)[] = [];
  slow = false;

  override append(partition: number, records: readonly KeyedRecord[]): Promise<void> {
    if (!this.slow) return super.append(partition, records);
    return new Promise((resolve, reject) => {
      this.held.push((error) => {
        if (error) reject(error);
        else super.append(partition, records).then(resolve);
      });
    });
  }
}

async function member(lab: Lab, groupId = "g") {
  const { memberId, joined } = await lab.joinTwice({ groupId });
  lab.clock.advance(0);
  const { generationId } = await joined;
  await lab.coordinator.syncGroup(
    {
      groupId,
      memberId,
      generationId,
      groupInstanceId: null,
      protocolType: null,
      protocolName: null,
      assignments: [],
    },
    caller(4),
  );
  return { memberId, generation: generationId };
}

describe("commits", () => {
  test("without membership into a new or empty group", async () => {
    const lab = new Lab();
    expect(await lab.committed()).toEqual({});
    expect(await lab.commit({ 0: 7, 1: 8 })).toEqual(["NONE", "NONE"]);
    expect(await lab.committed()).toEqual({ "t-0": 7, "t-1": 8 });
    expect(lab.groups()).toEqual(["g Empty"]);
  });

  test("with a generation: only the present one, only from a member, not while a sync is due", async () => {
    const lab = new Lab();
    expect(await lab.commit({ 0: 1 }, { memberId: "m", generation: 1 })).toEqual(["GROUP_ID_NOT_FOUND"]);
    expect(await lab.commit({ 0: 1 }, { memberId: "m", generation: 1, apiVersion: 8 })).toEqual(["ILLEGAL_GENERATION"]);
    const { memberId, joined } = await lab.joinTwice();
    lab.clock.advance(0);
    const { generationId } = await joined;
    expect(await lab.commit({ 0: 1 }, { memberId, generation: generationId })).toEqual(["REBALANCE_IN_PROGRESS"]);
    await lab.sync(memberId, generationId);
    expect(await lab.commit({ 0: 1 }, { memberId, generation: generationId })).toEqual(["NONE"]);
    expect(await lab.commit({ 0: 2 }, { memberId, generation: generationId + 1 })).toEqual(["ILLEGAL_GENERATION"]);
    expect(await lab.commit({ 0: 2 }, { memberId: "other", generation: generationId })).toEqual(["UNKNOWN_MEMBER_ID"]);
    expect(await lab.commit({ 0: 2 })).toEqual(["UNKNOWN_MEMBER_ID"]);
    expect(await lab.commit({ 0: 2 }, { memberId })).toEqual(["ILLEGAL_GENERATION"]);
    expect(await lab.committed()).toEqual({ "t-0": 1 });
  });

  test("too many groups: new ones are refused, known ones go on", async () => {
    const lab = new Lab({ groupsMax: 2 });
    for (const groupId of ["a", "b"]) expect(await lab.commit({ 0: 1 }, { groupId })).toEqual(["NONE"]);
    expect(await lab.commit({ 0: 1 }, { groupId: "c" })).toEqual(["COORDINATOR_NOT_AVAILABLE"]);
    expect(errorName((await lab.join({ groupId: "c" })).errorCode)).toBe("COORDINATOR_NOT_AVAILABLE");
    expect(await lab.commit({ 0: 2 }, { groupId: "a" })).toEqual(["NONE"]);
    await lab.coordinator.delete("b");
    expect(await lab.commit({ 0: 1 }, { groupId: "c" })).toEqual(["NONE"]);
  });

  test("a commit keeps the session alive", async () => {
    const lab = new Lab();
    const { memberId, generation } = await member(lab);
    for (let round = 0; round < 5; round++) {
      lab.clock.advance(9_000);
      expect(await lab.commit({ 0: round }, { memberId, generation })).toEqual(["NONE"]);
    }
  });

  test("metadata over the limit is refused for its partition alone", async () => {
    const lab = new Lab();
    expect(await lab.commit({ 0: 1 }, { metadata: "x".repeat(4_096) })).toEqual(["NONE"]);
    expect(await lab.commit({ 0: 2 }, { metadata: "x".repeat(4_097) })).toEqual(["OFFSET_METADATA_TOO_LARGE"]);
    expect(await lab.committed()).toEqual({ "t-0": 1 });
  });

  test("is answered, and seen, when it is durable; a stable read waits for it", async () => {
    const log = new SlowLog();
    const lab = new Lab({}, log);
    await lab.commit({ 0: 1 });
    log.slow = true;
    let answered = false;
    const commit = lab.commit({ 0: 2 }).then(() => (answered = true));
    const stable = lab.committed();
    await settle();
    expect(answered).toBe(false);
    const present = await lab.coordinator.offsetFetch({ groupId: "g", topics: null }, false);
    expect(present.topics[0]!.partitions[0]!.committedOffset).toBe(1n);
    log.held[0]!();
    expect(await stable).toEqual({ "t-0": 2 });
    await commit;
  });

  test("a failed write is told, and changes nothing", async () => {
    const log = new SlowLog();
    const lab = new Lab({}, log);
    await lab.commit({ 0: 1 });
    log.slow = true;
    const failing = lab.commit({ 0: 2 });
    const working = lab.commit({ 1: 5 });
    log.held[0]!(new KafkaError("KAFKA_STORAGE_ERROR"));
    log.held[1]!();
    expect(await failing).toEqual(["NOT_COORDINATOR"]);
    expect(await working).toEqual(["NONE"]);
    log.slow = false;
    expect(await lab.committed()).toEqual({ "t-0": 1, "t-1": 5 });
    lab.restart();
    expect(await lab.committed()).toEqual({ "t-0": 1, "t-1": 5 });
  });

  test("an assignment that cannot be stored sends everyone back to joining", async () => {
    const log = new SlowLog();
    const lab = new Lab({}, log);
    const { memberId, joined } = await lab.joinTwice();
    lab.clock.advance(0);
    const { generationId } = await joined;
    log.slow = true;
    const synced = lab.sync(memberId, generationId, { [memberId]: "all" });
    log.held[0]!(new KafkaError("KAFKA_STORAGE_ERROR"));
    expect((await synced).error).toBe("NOT_COORDINATOR");
    expect(lab.groups()).toEqual(["g PreparingRebalance"]);
    expect((await lab.join({ memberId })).generationId).toBe(generationId + 1);
  });

  test("a returning static member that cannot be stored is not replaced", async () => {
    const log = new SlowLog();
    const lab = new Lab({}, log);
    const first = lab.join({ groupInstanceId: "i" });
    lab.clock.advance(0);
    const { memberId } = await first;
    await lab.sync(memberId, 1, { [memberId]: "all" }, "i");
    log.slow = true;
    const back = lab.join({ groupInstanceId: "i" });
    await settle();
    log.held[0]!(new KafkaError("KAFKA_STORAGE_ERROR"));
    expect(errorName((await back).errorCode)).toBe("NOT_COORDINATOR");
    expect(lab.beat(memberId, 1, "i")).toBe("NONE");
    expect((await lab.sync(memberId, 1, {}, "i")).assignment).toBe("all");
  });
});

describe("deleting", () => {
  test("a group without members goes with its offsets, one in use stays", async () => {
    const lab = new Lab();
    await lab.commit({ 0: 1 }, { groupId: "empty" });
    await member(lab);
    const { results } = await lab.coordinator.deleteGroups(["empty", "g", "unknown"]);
    expect(results.map((one) => `${one.groupId} ${errorName(one.errorCode)}`)).toEqual([
      "empty NONE",
      "g NON_EMPTY_GROUP",
      "unknown GROUP_ID_NOT_FOUND",
    ]);
    expect(lab.groups()).toEqual(["g Stable"]);
    lab.restart();
    expect(lab.groups()).toEqual(["g Stable"]);
    expect(await lab.committed("empty")).toEqual({});
  });

  test("offsets that are on their way to the disk are deleted too", async () => {
    const log = new SlowLog();
    const lab = new Lab({}, log);
    await lab.commit({ 0: 1 });
    log.slow = true;
    const commit = lab.commit({ 1: 2 });
    const deletion = lab.coordinator.delete("g");
    for (const release of log.held) release();
    await commit;
    await deletion;
    log.slow = false;
    expect(await lab.committed()).toEqual({});
    lab.restart();
    expect(lab.groups()).toEqual([]);
  });

  test("a deletion that cannot be stored leaves the group as it was", async () => {
    const log = new SlowLog();
    const lab = new Lab({}, log);
    await lab.commit({ 0: 1 });
    log.slow = true;
    const deletion = lab.coordinator.deleteGroups(["g"]);
    log.held[0]!(new KafkaError("KAFKA_STORAGE_ERROR"));
    expect(errorName((await deletion).results[0]!.errorCode)).toBe("NOT_COORDINATOR");
    log.slow = false;
    expect(await lab.committed()).toEqual({ "t-0": 1 });
    await lab.coordinator.delete("g");
    expect(lab.groups()).toEqual([]);
  });

  test("offsets of topics that nobody subscribes to", async () => {
    const lab = new Lab();
    await lab.commit({ 0: 1, 1: 2 });
    await lab.commit({ 0: 3 }, { topic: "u" });
    await member(lab);
    const remove = async (groupId: string, topic: string) => {
      const request = { groupId, topics: [{ name: topic, partitions: [{ partitionIndex: 0 }] }] };
      const answer = await lab.coordinator.offsetDelete(request);
      return errorName(answer.errorCode || answer.topics[0]!.partitions[0]!.errorCode);
    };
    expect(await remove("g", "t")).toBe("GROUP_SUBSCRIBED_TO_TOPIC");
    expect(await remove("g", "u")).toBe("NONE");
    expect(await remove("g", "u")).toBe("NONE");
    expect(await remove("unknown", "u")).toBe("GROUP_ID_NOT_FOUND");
    expect(await remove("", "u")).toBe("INVALID_GROUP_ID");
    expect(await lab.committed()).toEqual({ "t-0": 1, "t-1": 2 });
  });

  test("a deleted topic's offsets are forgotten in every group", async () => {
    const lab = new Lab();
    await lab.commit({ 0: 1, 1: 2 });
    await lab.commit({ 0: 3 }, { topic: "u" });
    await lab.commit({ 0: 4 }, { groupId: "h" });
    await lab.coordinator.topicDeleted("t");
    expect(await lab.committed()).toEqual({ "u-0": 3 });
    lab.restart();
    expect(await lab.committed()).toEqual({ "u-0": 3 });
    expect(await lab.committed("h")).toEqual({});
  });
});

describe("a restart", () => {
  test("keeps members, generation and assignments; sessions begin anew", async () => {
    const lab = new Lab();
    const { memberId, joined } = await lab.joinTwice();
    lab.clock.advance(0);
    await joined;
    await lab.sync(memberId, 1, { [memberId]: "all" });
    await lab.commit({ 0: 5 }, { memberId, generation: 1 });
    lab.clock.advance(9_000);
    lab.restart();
    expect(lab.groups()).toEqual(["g Stable"]);
    lab.clock.advance(9_000);
    expect(lab.beat(memberId, 1)).toBe("NONE");
    expect((await lab.sync(memberId, 1)).assignment).toBe("all");
    expect(await lab.commit({ 0: 6 }, { memberId, generation: 1 })).toEqual(["NONE"]);
    lab.restart();
    lab.clock.advance(10_000);
    expect(lab.beat(memberId, 1)).toBe("UNKNOWN_MEMBER_ID");
    expect(await lab.committed()).toEqual({ "t-0": 6 });
    expect(lab.groups()).toEqual(["g Empty"]);
  });

  test("a static member resumes its place under a new id", async () => {
    const lab = new Lab();
    const first = lab.join({ groupInstanceId: "i" });
    lab.clock.advance(0);
    const { memberId } = await first;
    await lab.sync(memberId, 1, { [memberId]: "all" }, "i");
    lab.restart();
    const back = await lab.join({ groupInstanceId: "i" });
    expect(back).toMatchObject({ errorCode: 0, generationId: 1, skipAssignment: true });
    lab.restart();
    expect((await lab.sync(back.memberId, 1, {}, "i")).assignment).toBe("all");
    expect(lab.beat(memberId, 1, "i")).toBe("FENCED_INSTANCE_ID");
  });

  test("generations go on where they were", async () => {
    const lab = new Lab();
    const { memberId } = await member(lab);
    lab.leave({ memberId });
    await settle();
    lab.restart();
    expect(lab.groups()).toEqual(["g Empty"]);
    expect((await member(lab)).generation).toBe(3);
  });

  test("a record that cannot be read is skipped", async () => {
    const log = new MemoryOffsetsLog();
    const lab = new Lab({}, log);
    await lab.commit({ 0: 1 });
    const kinds: Uint8Array[] = [[], [0, 1], [0, 1, 0, 9, 65], [0, 99, 1, 2, 3], [0, 2, 127, 255]].map((list) =>
      Uint8Array.from(list),
    );
    for (const key of kinds) await log.append(0, [{ key, value: Uint8Array.from([0, 3]) }]);
    lab.restart();
    expect(await lab.committed()).toEqual({ "t-0": 1 });
    expect(lab.groups()).toEqual(["g Empty"]);
  });
});

describe("expiry (case C58)", () => {
  const check = async (lab: Lab) => {
    lab.clock.advance(600_000);
    await settle();
  };

  test("standalone consumers: from the last commit", async () => {
    const lab = new Lab();
    await lab.commit({ 0: 1 });
    lab.clock.advance(6 * dayMs);
    await lab.commit({ 1: 2 });
    lab.clock.advance(dayMs - 600_000);
    await check(lab);
    expect(await lab.committed()).toEqual({ "t-1": 2 });
    lab.clock.advance(6 * dayMs);
    await check(lab);
    expect(await lab.committed()).toEqual({});
    expect(lab.groups()).toEqual([]);
    lab.restart();
    expect(lab.groups()).toEqual([]);
  });

  test("groups with members: never, and then from when they became empty", async () => {
    const lab = new Lab();
    const { memberId, generation } = await member(lab);
    await lab.commit({ 0: 1 }, { memberId, generation });
    for (let elapsed = 0; elapsed < 8 * dayMs; elapsed += 9_000) {
      lab.clock.advance(9_000);
      if (elapsed % (900_000 * 10) === 0) await settle();
      expect(lab.beat(memberId, generation)).toBe("NONE");
    }
    expect(await lab.committed()).toEqual({ "t-0": 1 });
    lab.leave({ memberId });
    lab.clock.advance(7 * dayMs - 1_200_000);
    await check(lab);
    expect(await lab.committed()).toEqual({ "t-0": 1 });
    lab.restart();
    lab.clock.advance(600_000);
    await check(lab);
    expect(await lab.committed()).toEqual({});
    expect(lab.groups()).toEqual([]);
  });

  test("a live group's offsets of topics it left expire from their commit", async () => {
    const lab = new Lab({ offsetsRetentionMs: 1_000_000 });
    await lab.commit({ 0: 1 }, { topic: "old" });
    await lab.commit({ 0: 2 });
    const { memberId, generation } = await member(lab);
    for (let beat = 0; beat < 140; beat++) {
      lab.clock.advance(9_000);
      lab.beat(memberId, generation);
    }
    await settle();
    expect(await lab.committed()).toEqual({ "t-0": 2 });
  });

  test("a retention time of an old client is kept with the offset", async () => {
    const lab = new Lab();
    await lab.commit({ 0: 1 }, { retentionMs: 1_000, apiVersion: 2 });
    await lab.commit({ 1: 1 }, { retentionMs: 30 * dayMs, apiVersion: 2 });
    lab.restart();
    await check(lab);
    expect(await lab.committed()).toEqual({ "t-1": 1 });
    lab.clock.advance(8 * dayMs);
    await check(lab);
    expect(await lab.committed()).toEqual({ "t-1": 1 });
  });

  test("a clock that steps back a day loses nothing, and expiry goes on", async () => {
    const lab = new Lab();
    await lab.commit({ 0: 1 });
    lab.clock.stepWall(-dayMs);
    await check(lab);
    expect(await lab.committed()).toEqual({ "t-0": 1 });
    lab.clock.advance(8 * dayMs);
    await check(lab);
    expect(await lab.committed()).toEqual({});
  });

  test("10,000 groups that committed once are gone after their time", async () => {
    const log = new MemoryOffsetsLog(4, 5_000);
    // One check a day: 1,000 checks of 10,000 groups would test patience only.
    const lab = new Lab({ offsetsRetentionCheckMs: dayMs }, log);
    await Promise.all(Array.from({ length: 10_000 }, (_, index) => lab.commit({ 0: index }, { groupId: `g${index}` })));
    expect(lab.groups()).toHaveLength(10_000);
    lab.restart();
    expect(lab.groups()).toHaveLength(10_000);
    expect(await lab.committed("g4711")).toEqual({ "t-0": 4_711 });
    lab.clock.advance(6 * dayMs);
    expect(lab.groups()).toHaveLength(10_000);
    lab.clock.advance(dayMs);
    await settle();
    expect(lab.groups()).toEqual([]);
    lab.restart();
    expect(lab.groups()).toEqual([]);
    for (const partition of log.partitions) expect(partition.length).toBeLessThan(5_100);
  });

  test("an empty group without offsets is forgotten at the next check", async () => {
    const lab = new Lab();
    const { memberId } = await member(lab);
    lab.leave({ memberId });
    await check(lab);
    expect(lab.groups()).toEqual([]);
  });
});

describe("compaction", () => {
  test("a log that grows is rewritten with what is still true", async () => {
    const log = new MemoryOffsetsLog(1, 50);
    const lab = new Lab({}, log);
    const { memberId, generation } = await member(lab);
    for (let offset = 0; offset < 500; offset++) await lab.commit({ 0: offset, 1: offset }, { memberId, generation });
    await lab.commit({ 0: 9 }, { groupId: "simple" });
    await settle();
    expect(log.partitions[0]!.length).toBeLessThan(60);
    lab.restart();
    expect(lab.beat(memberId, generation)).toBe("NONE");
    expect(await lab.committed()).toEqual({ "t-0": 499, "t-1": 499 });
    expect(await lab.committed("simple")).toEqual({ "t-0": 9 });
  });
});

test("a group's partition is Kafka's", () => {
  // Utils.abs("cg1".hashCode()) % 4 and others, as Apache Kafka 4.4 placed them.
  expect(partitionOfGroup("cg1", 4)).toBe(1);
  expect(partitionOfGroup("", 50)).toBe(0);
  expect(partitionOfGroup("polygenelubricants", 50)).toBe(0);
  expect(partitionOfGroup("my-group", 50)).toBe(36);
});

test("the plain methods: list, describe, reset, delete", async () => {
  const lab = new Lab();
  await lab.coordinator.resetOffsets("g", [{ topic: "t", partition: 0, offset: 3n }]);
  expect(lab.coordinator.list()).toEqual([{ groupId: "g", state: "Empty", protocolType: "", members: 0 }]);
  expect(lab.coordinator.describe("g")).toMatchObject({
    state: "Empty",
    offsets: [{ topic: "t", partition: 0, offset: 3n }],
  });
  expect(lab.coordinator.describe("unknown")).toBeUndefined();
  const { memberId } = await member(lab);
  expect(lab.coordinator.describe("g")).toMatchObject({
    state: "Stable",
    protocolType: "consumer",
    protocol: "range",
    leader: memberId,
    members: [{ memberId, clientId: "app", clientHost: "/127.0.0.1", assignment: [] }],
  });
  await expect(lab.coordinator.resetOffsets("g", [])).rejects.toThrow("has members");
  await expect(lab.coordinator.delete("g")).rejects.toThrow("has members");
  await expect(lab.coordinator.delete("unknown")).rejects.toThrow("not found");
  lab.leave({ memberId });
  await lab.coordinator.delete("g");
  expect(lab.coordinator.list()).toEqual([]);
});

test("closing answers who waits and refuses the rest", async () => {
  const lab = new Lab({ initialRebalanceDelayMs: 1_000 });
  const { joined } = await lab.joinTwice();
  await lab.coordinator.close();
  expect(errorName((await joined).errorCode)).toBe("NOT_COORDINATOR");
  expect(errorName((await lab.join()).errorCode)).toBe("COORDINATOR_NOT_AVAILABLE");
  expect(await lab.commit({ 0: 1 })).toEqual(["COORDINATOR_NOT_AVAILABLE"]);
  expect(lab.beat("x", 1)).toBe("COORDINATOR_NOT_AVAILABLE");
  expect(lab.coordinator.list()).toEqual([]);
  expect(lab.clock.pending).toBe(0);
});

describe("reading back", () => {
  class UnreadableLog extends MemoryOffsetsLog {
    unreadable = true;
    override replay(partition: number, visit: (record: KeyedRecord) => void): void {
      if (this.unreadable && partition === partitionOfGroup("g", this.partitionCount))
        throw new KafkaError("KAFKA_STORAGE_ERROR", "bad sectors");
      super.replay(partition, visit);
    }
  }

  test("groups in a part of the log that cannot be read are not served, and are not taken for new", async () => {
    const log = new UnreadableLog();
    log.unreadable = false;
    const lab = new Lab({}, log);
    await lab.commit({ 0: 1 });
    log.unreadable = true;
    lab.restart();
    expect(await lab.commit({ 0: 2 })).toEqual(["COORDINATOR_NOT_AVAILABLE"]);
    expect(errorName((await lab.join()).errorCode)).toBe("COORDINATOR_NOT_AVAILABLE");
    expect(lab.beat("m", 1)).toBe("COORDINATOR_NOT_AVAILABLE");
    expect(errorName((await lab.coordinator.offsetFetch({ groupId: "g", topics: null }, false)).errorCode)).toBe(
      "COORDINATOR_NOT_AVAILABLE",
    );
    await expect(lab.coordinator.delete("g")).rejects.toThrow("cannot be read");
    const other = [..."abcdefgh"].find((id) => partitionOfGroup(id, 4) !== partitionOfGroup("g", 4))!;
    expect(await lab.commit({ 0: 2 }, { groupId: other })).toEqual(["NONE"]);
    expect(lab.groups()).toEqual([`${other} Empty`]);
    log.unreadable = false;
    expect(await lab.committed()).toEqual({ "t-0": 1 });
  });

  test("all groups are read soon after the start, so that absent members are noticed", async () => {
    const lab = new Lab();
    const { memberId } = await member(lab);
    lab.restart();
    lab.clock.advance(10_000);
    expect(lab.beat(memberId, 1)).toBe("UNKNOWN_MEMBER_ID");
  });
});
