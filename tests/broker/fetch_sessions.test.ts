/** Incremental fetch sessions (KIP-227), case C29. */
import { describe, expect, test } from "bun:test";
import { errorName } from "../../src/base/kafka_error.ts";
import { zeroUuid } from "../../src/base/uuid.ts";
import {
  FetchSessions,
  type PartitionResult,
  type PartitionWish,
  type SessionRequest,
} from "../../src/broker/fetch_sessions.ts";

const wish = (topic: string, partition = 0, fetchOffset = 0): PartitionWish => ({
  topic,
  topicId: `${topic}id`.padEnd(22, "A"),
  partition,
  fetchOffset,
  maxBytes: 1_000,
  currentLeaderEpoch: -1,
  lastFetchedEpoch: -1,
  logStartOffset: -1,
});
const quiet: PartitionResult = { errorCode: 0, highWatermark: 5, logStartOffset: 0, bytes: 0 };

class Node {
  now = 0;
  readonly logs = new Map<string, PartitionResult>();
  readonly sessions: FetchSessions;

  constructor(sessionsMax = 10, partitionsMax = 100) {
    this.sessions = new FetchSessions({ nowMs: () => this.now, sessionsMax, partitionsMax });
  }

  /** One whole fetch; answers with what was read and what was told, as `topic-partition`. */
  fetch(from: Partial<SessionRequest>) {
    const request = { sessionId: 0, sessionEpoch: 0, usesTopicIds: false, partitions: [], forgotten: [], ...from };
    const plan = this.sessions.plan(request);
    const name = (one: PartitionWish) => `${one.topic}-${one.partition}`;
    const answer = plan.finish(plan.partitions.map((one) => this.logs.get(name(one)) ?? quiet));
    const told = plan.partitions.filter((_, index) => answer.included[index]).map(name);
    return {
      error: errorName(answer.errorCode),
      sessionId: answer.sessionId,
      read: plan.partitions.map(name),
      told,
      plan,
    };
  }
}

describe("a session", () => {
  test("opens with everything told, then tells nothing while nothing changes", () => {
    const node = new Node();
    const opened = node.fetch({ partitions: [wish("a"), wish("b")] });
    expect(opened).toMatchObject({ error: "NONE", read: ["a-0", "b-0"], told: ["a-0", "b-0"] });
    expect(opened.sessionId).toBeGreaterThan(0);
    const { sessionId } = opened;
    expect(node.fetch({ sessionId, sessionEpoch: 1 })).toMatchObject({ sessionId, read: ["a-0", "b-0"], told: [] });
    expect(node.fetch({ sessionId, sessionEpoch: 2 })).toMatchObject({ error: "NONE", sessionId, told: [] });
  });

  test("tells a partition with records, a moved high watermark, or a moved log start", () => {
    const node = new Node();
    const { sessionId } = node.fetch({ partitions: [wish("a"), wish("b"), wish("c"), wish("d")] });
    node.logs.set("a-0", { ...quiet, bytes: 10 });
    node.logs.set("b-0", { ...quiet, highWatermark: 6 });
    node.logs.set("c-0", { ...quiet, logStartOffset: 1 });
    expect(node.fetch({ sessionId, sessionEpoch: 1 }).told).toEqual(["a-0", "b-0", "c-0"]);
    node.logs.set("a-0", quiet);
    expect(node.fetch({ sessionId, sessionEpoch: 2 }).told).toEqual([]);
  });

  test("tells an error each time, and once more when it is gone", () => {
    const node = new Node();
    const { sessionId } = node.fetch({ partitions: [wish("a"), wish("b")] });
    node.logs.set("a-0", { ...quiet, errorCode: 3 });
    expect(node.fetch({ sessionId, sessionEpoch: 1 }).told).toEqual(["a-0"]);
    expect(node.fetch({ sessionId, sessionEpoch: 2 }).told).toEqual(["a-0"]);
    node.logs.delete("a-0");
    expect(node.fetch({ sessionId, sessionEpoch: 3 }).told).toEqual(["a-0"]);
    expect(node.fetch({ sessionId, sessionEpoch: 4 }).told).toEqual([]);
  });

  test("an error at opening is told again when it is gone", () => {
    const node = new Node();
    node.logs.set("a-0", { ...quiet, errorCode: 3 });
    const { sessionId } = node.fetch({ partitions: [wish("a")] });
    node.logs.delete("a-0");
    expect(node.fetch({ sessionId, sessionEpoch: 1 }).told).toEqual(["a-0"]);
  });

  test("adds, moves and forgets partitions; the new offset of each request counts", () => {
    const node = new Node();
    const { sessionId } = node.fetch({ partitions: [wish("a", 0, 7), wish("b")] });
    const second = node.fetch({ sessionId, sessionEpoch: 1, partitions: [wish("c"), wish("a", 0, 3)] });
    expect(second.read).toEqual(["a-0", "b-0", "c-0"]);
    expect(second.told).toEqual(["c-0"]);
    expect(second.plan.partitions[0]!.fetchOffset).toBe(3);
    const third = node.fetch({ sessionId, sessionEpoch: 2, forgotten: [wish("b"), wish("nobody")] });
    expect(third.read).toEqual(["a-0", "c-0"]);
    expect(node.sessions.totalPartitions).toBe(2);
    expect(node.fetch({ sessionId, sessionEpoch: 3, partitions: [wish("b")] }).told).toEqual(["b-0"]);
  });

  test("who gave records is read last next time", () => {
    const node = new Node();
    const { sessionId } = node.fetch({ partitions: [wish("a"), wish("b"), wish("c")] });
    node.logs.set("a-0", { ...quiet, bytes: 10 });
    node.fetch({ sessionId, sessionEpoch: 1 });
    expect(node.fetch({ sessionId, sessionEpoch: 2 }).read).toEqual(["b-0", "c-0", "a-0"]);
    node.logs.set("a-0", quiet);
    node.logs.set("b-0", { ...quiet, bytes: 10 });
    node.fetch({ sessionId, sessionEpoch: 3 });
    expect(node.fetch({ sessionId, sessionEpoch: 4 }).read).toEqual(["c-0", "a-0", "b-0"]);
  });

  test("ends when its last partition is forgotten", () => {
    const node = new Node();
    const { sessionId } = node.fetch({ partitions: [wish("a")] });
    expect(node.fetch({ sessionId, sessionEpoch: 1, forgotten: [wish("a")] })).toMatchObject({
      error: "NONE",
      sessionId: 0,
      read: [],
    });
    expect(node.fetch({ sessionId, sessionEpoch: 2 }).error).toBe("FETCH_SESSION_ID_NOT_FOUND");
  });

  test("a partition named twice in one request counts once, as last named", () => {
    const node = new Node();
    const opened = node.fetch({ partitions: [wish("a", 0, 1), wish("a", 0, 2)] });
    expect(opened.read).toEqual(["a-0"]);
    expect(opened.plan.partitions[0]!.fetchOffset).toBe(2);
  });
});

describe("epochs and ids", () => {
  test("a wrong epoch and an unknown session are errors of the whole request; the session goes on", () => {
    const node = new Node();
    const { sessionId } = node.fetch({ partitions: [wish("a")] });
    expect(node.fetch({ sessionId, sessionEpoch: 2 })).toMatchObject({
      error: "INVALID_FETCH_SESSION_EPOCH",
      sessionId: 0,
      told: [],
    });
    expect(node.fetch({ sessionId: sessionId ^ 1, sessionEpoch: 1 }).error).toBe("FETCH_SESSION_ID_NOT_FOUND");
    expect(node.fetch({ sessionId: 0, sessionEpoch: 1 }).error).toBe("FETCH_SESSION_ID_NOT_FOUND");
    expect(node.fetch({ sessionId, sessionEpoch: 1 }).error).toBe("NONE");
    expect(node.fetch({ sessionId, sessionEpoch: 1 }).error).toBe("INVALID_FETCH_SESSION_EPOCH");
  });

  test("epoch -1 closes the session and answers everything; epoch 0 replaces it", () => {
    const node = new Node();
    const first = node.fetch({ partitions: [wish("a")] });
    expect(node.fetch({ sessionId: first.sessionId, sessionEpoch: -1, partitions: [wish("b")] })).toMatchObject({
      sessionId: 0,
      told: ["b-0"],
    });
    expect(node.sessions.size).toBe(0);
    const second = node.fetch({ partitions: [wish("a")] });
    const third = node.fetch({ sessionId: second.sessionId, partitions: [wish("a")] });
    expect(third.sessionId).not.toBe(second.sessionId);
    expect(node.sessions.size).toBe(1);
    expect(node.fetch({ sessionId: second.sessionId, sessionEpoch: 1 }).error).toBe("FETCH_SESSION_ID_NOT_FOUND");
  });

  test("names and ids do not mix in one session", () => {
    const node = new Node();
    const named = node.fetch({ partitions: [wish("a")] }).sessionId;
    expect(node.fetch({ sessionId: named, sessionEpoch: 1, usesTopicIds: true }).error).toBe(
      "FETCH_SESSION_TOPIC_ID_ERROR",
    );
    expect(node.fetch({ sessionId: named, sessionEpoch: 1 }).error).toBe("NONE");
    const byId = node.fetch({
      usesTopicIds: true,
      partitions: [
        { ...wish("a"), topic: "" },
        { ...wish("b"), topic: "" },
      ],
    });
    expect(byId.read).toHaveLength(2);
    expect(node.fetch({ sessionId: byId.sessionId, sessionEpoch: 1 }).error).toBe("FETCH_SESSION_TOPIC_ID_ERROR");
    const forgotten = [{ topic: "", topicId: wish("a").topicId, partition: 0 }];
    const left = node.fetch({ sessionId: byId.sessionId, sessionEpoch: 1, usesTopicIds: true, forgotten });
    expect(left.plan.partitions.map((one) => one.topicId)).toEqual([wish("b").topicId]);
    expect(zeroUuid).not.toBe(left.plan.partitions[0]!.topicId);
  });

  test("of two overlapping requests the earlier one's answer is void", () => {
    const node = new Node();
    const { sessionId } = node.fetch({ partitions: [wish("a")] });
    const request = { sessionId, usesTopicIds: false, partitions: [], forgotten: [] };
    const slow = node.sessions.plan({ ...request, sessionEpoch: 1 });
    const quick = node.sessions.plan({ ...request, sessionEpoch: 2 });
    expect(quick.finish([{ ...quiet, bytes: 1 }])).toEqual({ errorCode: 0, sessionId, included: [true] });
    expect(errorName(slow.finish([{ ...quiet, bytes: 1 }]).errorCode)).toBe("INVALID_FETCH_SESSION_EPOCH");
  });
});

describe("bounds", () => {
  test("2,000 clients: sessions in use stay, the others fetch without; unused ones give way, longest unused first", () => {
    const node = new Node(1_000, 100_000);
    const open = () => node.fetch({ partitions: [wish("a")] }).sessionId;
    const ids = Array.from({ length: 2_000 }, open);
    expect(ids.slice(0, 1_000).every((id) => id > 0)).toBe(true);
    expect(new Set(ids.slice(0, 1_000)).size).toBe(1_000);
    expect(ids.slice(1_000).every((id) => id === 0)).toBe(true);
    node.now = 100_000;
    // The oldest by creation is used; the second oldest is not.
    expect(node.fetch({ sessionId: ids[0]!, sessionEpoch: 1 }).error).toBe("NONE");
    node.now = 130_000;
    expect(open()).toBeGreaterThan(0);
    expect(node.fetch({ sessionId: ids[1]!, sessionEpoch: 1 }).error).toBe("FETCH_SESSION_ID_NOT_FOUND");
    expect(node.fetch({ sessionId: ids[0]!, sessionEpoch: 2 }).error).toBe("NONE");
    expect(node.sessions.size).toBe(1_000);
  });

  test("partitions of all sessions together are bounded", () => {
    const node = new Node(10, 3);
    const first = node.fetch({ partitions: [wish("a", 0), wish("a", 1)] });
    expect(node.fetch({ partitions: [wish("b", 0), wish("b", 1)] }).sessionId).toBe(0);
    const grown = node.fetch({ sessionId: first.sessionId, sessionEpoch: 1, partitions: [wish("a", 2), wish("a", 3)] });
    expect(grown.error).toBe("FETCH_SESSION_ID_NOT_FOUND");
    expect(node.sessions.totalPartitions).toBe(0);
  });

  test("random use keeps the count of partitions right", () => {
    let seed = 20_261_129;
    const random = (max: number) => {
      seed = (Math.imul(seed, 1_103_515_245) + 12_345) & 0x7fffffff;
      return seed % max;
    };
    const node = new Node(5, 40);
    const open = new Map<number, { epoch: number; partitions: Set<number> }>();
    for (let step = 0; step < 20_000; step++) {
      node.now += random(3_000);
      const known = [...open.keys()];
      const partitions = Array.from({ length: random(4) }, () => wish("t", random(12)));
      const sessionId = known[random(known.length + 1)] ?? 0;
      const session = open.get(sessionId);
      const full = !session || random(20) === 0;
      const forgotten = full ? [] : Array.from({ length: random(4) }, () => wish("t", random(12)));
      const sessionEpoch = full ? 0 : session.epoch;
      const answer = node.fetch({ sessionId, sessionEpoch, partitions, forgotten });
      const expected = new Set(full ? [] : session.partitions);
      for (const one of partitions) expected.add(one.partition);
      for (const one of forgotten) expected.delete(one.partition);
      open.delete(sessionId);
      if (answer.error === "NONE") {
        expect(answer.read.sort()).toEqual([...expected].map((one) => `t-${one}`).sort());
        if (answer.sessionId !== 0)
          open.set(answer.sessionId, { epoch: full ? 1 : sessionEpoch + 1, partitions: expected });
      } else expect(answer.error).toBe("FETCH_SESSION_ID_NOT_FOUND");
      expect(node.sessions.size).toBeLessThanOrEqual(5);
      expect(node.sessions.totalPartitions).toBeLessThanOrEqual(40);
    }
    for (const [sessionId, { epoch }] of open)
      node.fetch({
        sessionId,
        sessionEpoch: epoch,
        forgotten: Array.from({ length: 12 }, (_, partition) => wish("t", partition)),
      });
    for (let step = 0; step < 5; step++) {
      node.now += 1_000_000;
      const { sessionId } = node.fetch({ partitions: [] });
      node.fetch({ sessionId, sessionEpoch: 1 });
    }
    expect(node.sessions.totalPartitions).toBe(0);
  });
});
