/** The classic protocol as clients play it: join, sync, stay, leave. */
import { describe, expect, test } from "bun:test";
import { errorName } from "../../src/base/kafka_error.ts";
import { bytes, caller, Lab, settle, subscription } from "./helpers.ts";

const protocols = [{ name: "range", metadata: subscription("t") }];

/** A stable group of `count` dynamic members that share generation. */
async function stableGroup(lab: Lab, count = 2) {
  const first = [];
  for (let index = 0; index < count; index++) first.push(await lab.joinTwice());
  lab.clock.advance(0);
  const answers = await Promise.all(first.map((one) => one.joined));
  const leader = answers[0]!.leader;
  const generation = answers[0]!.generationId;
  const ids = first.map((one) => one.memberId);
  const assignments = Object.fromEntries(ids.map((id) => [id, `for ${id}`]));
  const synced = await Promise.all(ids.map((id) => lab.sync(id, generation, id === leader ? assignments : {})));
  return { ids, leader, generation, answers, synced };
}

describe("joining", () => {
  test("a new member gets an id first, then joins with it and leads", async () => {
    const lab = new Lab();
    const first = await lab.join();
    expect(errorName(first.errorCode)).toBe("MEMBER_ID_REQUIRED");
    expect(first.memberId).toBe("app-r1");
    const second = lab.join({ memberId: first.memberId });
    lab.clock.advance(0);
    expect(await second).toMatchObject({
      errorCode: 0,
      generationId: 1,
      protocolType: "consumer",
      protocolName: "range",
      leader: "app-r1",
      skipAssignment: false,
      members: [{ memberId: "app-r1", groupInstanceId: null, metadata: subscription("t") }],
    });
  });

  test("before version 4 a new member joins at once", async () => {
    const lab = new Lab();
    const joined = lab.join({}, 3);
    lab.clock.advance(0);
    expect(await joined).toMatchObject({ errorCode: 0, memberId: "app-r1", generationId: 1 });
  });

  test("only the leader learns who is in the group, and everyone the same generation", async () => {
    const { answers, ids, leader } = await stableGroup(new Lab(), 3);
    expect(new Set(answers.map((answer) => answer.generationId)).size).toBe(1);
    for (const answer of answers) {
      expect(answer.leader).toBe(leader);
      const known = answer.members.map((member) => member.memberId).sort();
      expect(known).toEqual(answer.memberId === leader ? [...ids].sort() : []);
    }
  });

  test("the initial delay is prolonged while members arrive, but not past the rebalance timeout", async () => {
    const lab = new Lab({ initialRebalanceDelayMs: 3_000 });
    const answered: string[] = [];
    const arrive = async () => {
      const { memberId, joined } = await lab.joinTwice({ rebalanceTimeoutMs: 7_000 });
      joined.then(() => answered.push(memberId));
    };
    await arrive();
    lab.clock.advance(2_999);
    await arrive();
    lab.clock.advance(2_000);
    await arrive();
    await settle();
    expect(answered).toHaveLength(0);
    lab.clock.advance(1_000);
    await arrive();
    lab.clock.advance(1_000);
    await settle();
    expect(answered).toHaveLength(0);
    lab.clock.advance(1);
    await settle();
    expect(answered).toHaveLength(4);
  });

  test("refusals carry Kafka's codes", async () => {
    const lab = new Lab({ membersMax: 2 });
    expect(errorName((await lab.join({ groupId: "" })).errorCode)).toBe("INVALID_GROUP_ID");
    expect(errorName((await lab.join({ sessionTimeoutMs: 5_999 })).errorCode)).toBe("INVALID_SESSION_TIMEOUT");
    expect(errorName((await lab.join({ sessionTimeoutMs: 1_800_001 })).errorCode)).toBe("INVALID_SESSION_TIMEOUT");
    expect(errorName((await lab.join({ memberId: "nobody" })).errorCode)).toBe("UNKNOWN_MEMBER_ID");
    expect(errorName((await lab.join({ protocols: [] })).errorCode)).toBe("INCONSISTENT_GROUP_PROTOCOL");
    expect(errorName((await lab.join({ protocolType: "" })).errorCode)).toBe("INCONSISTENT_GROUP_PROTOCOL");
    await stableGroup(lab, 1);
    expect(errorName((await lab.join({ protocolType: "connect" })).errorCode)).toBe("INCONSISTENT_GROUP_PROTOCOL");
    const other = [{ name: "sticky", metadata: bytes("x") }];
    expect(errorName((await lab.join({ protocols: other })).errorCode)).toBe("INCONSISTENT_GROUP_PROTOCOL");
    expect(errorName((await lab.join()).errorCode)).toBe("MEMBER_ID_REQUIRED");
    expect(errorName((await lab.join()).errorCode)).toBe("GROUP_MAX_SIZE_REACHED");
  });

  test("a protocol that a member lacks is not chosen; the most votes win", async () => {
    const lab = new Lab();
    const offer = (...names: string[]) => names.map((name) => ({ name, metadata: bytes(name) }));
    const a = await lab.joinTwice({ protocols: offer("range", "sticky", "mine") });
    const b = await lab.joinTwice({ protocols: offer("sticky", "range") });
    const c = await lab.joinTwice({ protocols: offer("sticky", "range", "mine") });
    lab.clock.advance(0);
    for (const member of [a, b, c]) expect((await member.joined).protocolName).toBe("sticky");
    const late = await lab.join({ protocols: offer("mine") });
    expect(errorName(late.errorCode)).toBe("INCONSISTENT_GROUP_PROTOCOL");
  });

  test("metadata beyond the limit is refused", async () => {
    const lab = new Lab();
    const large = [{ name: "range", metadata: new Uint8Array(1_048_577) }];
    expect(errorName((await lab.join({ protocols: large })).errorCode)).toBe("UNKNOWN_SERVER_ERROR");
  });
});

describe("syncing and staying", () => {
  test("each member gets the part that the leader chose for it", async () => {
    const { ids, synced } = await stableGroup(new Lab(), 3);
    expect(synced.map((one) => one.assignment)).toEqual(ids.map((id) => `for ${id}`));
    expect(synced[0]!.answer).toMatchObject({ protocolType: "consumer", protocolName: "range" });
  });

  test("a second member makes the first rejoin; heartbeats tell it so", async () => {
    const lab = new Lab();
    const { ids, generation } = await stableGroup(lab, 1);
    expect(lab.beat(ids[0]!, generation)).toBe("NONE");
    const second = await lab.joinTwice();
    expect(lab.beat(ids[0]!, generation)).toBe("REBALANCE_IN_PROGRESS");
    expect((await lab.sync(ids[0]!, generation)).error).toBe("REBALANCE_IN_PROGRESS");
    const again = lab.join({ memberId: ids[0]! });
    expect((await again).generationId).toBe(generation + 1);
    expect((await second.joined).generationId).toBe(generation + 1);
    expect(lab.beat(ids[0]!, generation)).toBe("ILLEGAL_GENERATION");
    expect((await lab.sync(ids[0]!, generation)).error).toBe("ILLEGAL_GENERATION");
  });

  test("wrong names get Kafka's codes", async () => {
    const lab = new Lab();
    const { ids, generation } = await stableGroup(lab, 1);
    expect(lab.beat("nobody", generation)).toBe("UNKNOWN_MEMBER_ID");
    expect(lab.beat(ids[0]!, generation, "instance")).toBe("UNKNOWN_MEMBER_ID");
    expect(lab.beat("x", 1, null, "")).toBe("INVALID_GROUP_ID");
    expect(lab.beat("x", 1, null, "other")).toBe("UNKNOWN_MEMBER_ID");
    const sync = (from: object) =>
      lab.coordinator.syncGroup(
        {
          groupId: "g",
          memberId: ids[0]!,
          generationId: generation,
          groupInstanceId: null,
          protocolType: null,
          protocolName: null,
          assignments: [],
          ...from,
        },
        caller(4),
      );
    expect(errorName((await sync({ protocolType: "connect" })).errorCode)).toBe("INCONSISTENT_GROUP_PROTOCOL");
    expect(errorName((await sync({ protocolName: "sticky" })).errorCode)).toBe("INCONSISTENT_GROUP_PROTOCOL");
    expect(errorName((await sync({ groupId: "other" })).errorCode)).toBe("UNKNOWN_MEMBER_ID");
    expect(errorName((await sync({})).errorCode)).toBe("NONE");
  });

  test("a silent member is dropped after its session and the rest rebalance", async () => {
    const lab = new Lab();
    const { ids, generation } = await stableGroup(lab, 2);
    lab.clock.advance(9_999);
    expect(lab.beat(ids[0]!, generation)).toBe("NONE");
    lab.clock.advance(1);
    expect(lab.beat(ids[0]!, generation)).toBe("REBALANCE_IN_PROGRESS");
    expect(lab.beat(ids[1]!, generation)).toBe("UNKNOWN_MEMBER_ID");
    const alone = await lab.join({ memberId: ids[0]! });
    expect(alone).toMatchObject({ generationId: generation + 1, leader: ids[0]! });
  });

  test("who does not rejoin within the rebalance timeout is out", async () => {
    const lab = new Lab();
    const { ids, generation } = await stableGroup(lab, 2);
    const again = lab.join({ memberId: ids[0]!, protocols: [{ name: "range", metadata: subscription("t", "u") }] });
    for (let beat = 0; beat < 10; beat++) {
      lab.clock.advance(6_000);
      if (beat < 9) expect(lab.beat(ids[1]!, generation)).toBe("REBALANCE_IN_PROGRESS");
    }
    expect((await again).members.map((member) => member.memberId)).toEqual([ids[0]!]);
    expect(lab.beat(ids[1]!, generation)).toBe("UNKNOWN_MEMBER_ID");
  });

  test("who joins but never syncs is out after the rebalance timeout", async () => {
    const lab = new Lab();
    const a = await lab.joinTwice();
    const b = await lab.joinTwice();
    lab.clock.advance(0);
    const { generationId } = await a.joined;
    await b.joined;
    const synced = lab.sync(a.memberId, generationId, { [a.memberId]: "all" });
    expect((await synced).error).toBe("NONE");
    for (let beat = 0; beat < 10; beat++) {
      expect(lab.beat(a.memberId, generationId)).toBe("NONE");
      expect(lab.beat(b.memberId, generationId)).toBe("NONE");
      lab.clock.advance(6_000);
    }
    expect(lab.beat(a.memberId, generationId)).toBe("REBALANCE_IN_PROGRESS");
    expect(lab.beat(b.memberId, generationId)).toBe("UNKNOWN_MEMBER_ID");
  });

  test("a promised id lapses with the session timeout", async () => {
    const lab = new Lab();
    const { memberId } = await lab.join();
    lab.clock.advance(10_000);
    expect(errorName((await lab.join({ memberId })).errorCode)).toBe("UNKNOWN_MEMBER_ID");
  });

  test("a join or sync asked again on a new connection releases the old one", async () => {
    const lab = new Lab();
    const { ids, generation } = await stableGroup(lab, 2);
    const leaderAgain = lab.join({ memberId: ids[0]! });
    const retried = lab.join({ memberId: ids[0]! });
    expect(errorName((await leaderAgain).errorCode)).toBe("REBALANCE_IN_PROGRESS");
    const other = lab.join({ memberId: ids[1]! });
    expect((await retried).generationId).toBe(generation + 1);
    const follower = (await other).leader === ids[1]! ? ids[0]! : ids[1]!;
    const waiting = lab.sync(follower, generation + 1);
    const again = lab.sync(follower, generation + 1);
    expect((await waiting).error).toBe("REBALANCE_IN_PROGRESS");
    const leader = follower === ids[0]! ? ids[1]! : ids[0]!;
    await lab.sync(leader, generation + 1, { [follower]: "yours" });
    expect((await again).assignment).toBe("yours");
  });
});

describe("leaving (case C39)", () => {
  test("one row per member, one rebalance for all", async () => {
    const lab = new Lab();
    const { ids, generation } = await stableGroup(lab, 3);
    expect(lab.leave({ memberId: ids[0]! }, { memberId: "nobody" }, { memberId: ids[1]! })).toEqual({
      error: "NONE",
      rows: [
        { memberId: ids[0]!, groupInstanceId: null, errorCode: "NONE" },
        { memberId: "nobody", groupInstanceId: null, errorCode: "UNKNOWN_MEMBER_ID" },
        { memberId: ids[1]!, groupInstanceId: null, errorCode: "NONE" },
      ],
    });
    expect(lab.beat(ids[2]!, generation)).toBe("REBALANCE_IN_PROGRESS");
    expect(await lab.join({ memberId: ids[2]! })).toMatchObject({ generationId: generation + 1, leader: ids[2]! });
  });

  test("an unknown group, an empty list, a promised id, the last member", async () => {
    const lab = new Lab();
    expect(lab.leave({ memberId: "x" }).rows[0]!.errorCode).toBe("UNKNOWN_MEMBER_ID");
    const { ids, generation } = await stableGroup(lab, 1);
    expect(lab.leave()).toEqual({ error: "NONE", rows: [] });
    expect(lab.beat(ids[0]!, generation)).toBe("NONE");
    const promised = await lab.join();
    expect(lab.leave({ memberId: promised.memberId }).rows[0]!.errorCode).toBe("NONE");
    expect(lab.leave({ memberId: ids[0]! }).rows[0]!.errorCode).toBe("NONE");
    expect(lab.groups()).toEqual(["g Empty"]);
    expect(lab.leave({ memberId: ids[0]! }).rows[0]!.errorCode).toBe("UNKNOWN_MEMBER_ID");
  });

  test("a member that waits for its join is answered when an administrator removes it", async () => {
    const lab = new Lab();
    const { ids } = await stableGroup(lab, 1);
    const waiting = lab.join({ groupInstanceId: "i1" });
    expect(lab.leave({ groupInstanceId: "i1" }).rows).toEqual([
      { memberId: "", groupInstanceId: "i1", errorCode: "NONE" },
    ]);
    expect(errorName((await waiting).errorCode)).toBe("UNKNOWN_MEMBER_ID");
    expect((await lab.join({ memberId: ids[0]! })).generationId).toBe(2);
  });
});

describe("static members (KIP-345, KIP-814)", () => {
  async function staticGroup(lab: Lab) {
    const a = lab.join({ groupInstanceId: "i1" });
    const b = lab.join({ groupInstanceId: "i2" });
    lab.clock.advance(0);
    const [one, two] = await Promise.all([a, b]);
    const leader = one.leader;
    const assignments = { [one.memberId]: "first", [two.memberId]: "second" };
    await Promise.all([
      lab.sync(one.memberId, 1, leader === one.memberId ? assignments : {}, "i1"),
      lab.sync(two.memberId, 1, leader === two.memberId ? assignments : {}, "i2"),
    ]);
    return { one, two };
  }

  test("a restarted member keeps its assignment without a rebalance; its former self is fenced", async () => {
    const lab = new Lab();
    const { one, two } = await staticGroup(lab);
    expect(one.leader).toBe(one.memberId);
    const back = await lab.join({ groupInstanceId: "i2" });
    expect(back).toMatchObject({
      errorCode: 0,
      generationId: 1,
      leader: one.memberId,
      skipAssignment: false,
      members: [],
    });
    expect(back.memberId).not.toBe(two.memberId);
    expect((await lab.sync(back.memberId, 1, {}, "i2")).assignment).toBe("second");
    expect(lab.beat(two.memberId, 1, "i2")).toBe("FENCED_INSTANCE_ID");
    expect(lab.beat(two.memberId, 1)).toBe("UNKNOWN_MEMBER_ID");
    expect(lab.beat(one.memberId, 1, "i1")).toBe("NONE");
    expect(errorName((await lab.join({ memberId: two.memberId, groupInstanceId: "i2" })).errorCode)).toBe(
      "FENCED_INSTANCE_ID",
    );
  });

  test("a restarted leader skips the assignment from version 9, and before that is told its former id", async () => {
    const lab = new Lab();
    const { one } = await staticGroup(lab);
    const old = await lab.join({ groupInstanceId: "i1" }, 8);
    expect(old).toMatchObject({ generationId: 1, leader: one.memberId, skipAssignment: false, members: [] });
    const back = await lab.join({ groupInstanceId: "i1" }, 9);
    expect(back).toMatchObject({ generationId: 1, leader: back.memberId, skipAssignment: true });
    expect(back.members.map((member) => member.groupInstanceId).sort()).toEqual(["i1", "i2"]);
  });

  test("a waiting twin is fenced at once", async () => {
    const lab = new Lab();
    await staticGroup(lab);
    const third = lab.join({ groupInstanceId: "i3" });
    const twin = lab.join({ groupInstanceId: "i3" });
    expect(errorName((await third).errorCode)).toBe("FENCED_INSTANCE_ID");
    lab.clock.advance(60_000);
    await settle();
    expect(await twin).toMatchObject({ errorCode: 0 });
  });

  test("absence within the session costs no rebalance; past it, the member is dropped", async () => {
    const lab = new Lab();
    const { one, two } = await staticGroup(lab);
    lab.clock.advance(9_000);
    expect(lab.beat(one.memberId, 1, "i1")).toBe("NONE");
    lab.clock.advance(1_000);
    expect(lab.beat(one.memberId, 1, "i1")).toBe("REBALANCE_IN_PROGRESS");
    expect(lab.beat(two.memberId, 1, "i2")).toBe("UNKNOWN_MEMBER_ID");
  });

  test("a protocol change of a restarted member rebalances", async () => {
    const lab = new Lab();
    const offer = (...names: string[]) => names.map((name) => ({ name, metadata: bytes(name) }));
    const a = lab.join({ groupInstanceId: "i1", protocols: offer("x", "y") });
    lab.clock.advance(0);
    const first = await a;
    await lab.sync(first.memberId, 1, { [first.memberId]: "all" }, "i1");
    const back = await lab.join({ groupInstanceId: "i1", protocols: offer("y", "x") });
    expect(back).toMatchObject({ errorCode: 0, generationId: 2, protocolName: "y" });
  });
});

test("a group's life in ListGroups and DescribeGroups", async () => {
  const lab = new Lab({ initialRebalanceDelayMs: 100 });
  expect(lab.coordinator.describeGroup("g").groupState).toBe("Dead");
  const { memberId, joined } = await lab.joinTwice();
  expect(lab.groups()).toEqual(["g PreparingRebalance"]);
  lab.clock.advance(100);
  await joined;
  expect(lab.groups("completingREBALANCE")).toEqual(["g CompletingRebalance"]);
  expect(lab.groups("stable")).toEqual([]);
  expect(lab.coordinator.describeGroup("g")).toMatchObject({
    protocolData: "",
    members: [{ memberMetadata: bytes("") }],
  });
  await lab.sync(memberId, 1, { [memberId]: "part" });
  expect(lab.coordinator.describeGroup("g")).toMatchObject({
    groupState: "Stable",
    protocolType: "consumer",
    protocolData: "range",
    members: [
      {
        memberId,
        clientId: "app",
        clientHost: "/127.0.0.1",
        memberMetadata: protocols[0]!.metadata,
        memberAssignment: bytes("part"),
      },
    ],
  });
  expect(lab.coordinator.listGroups({ statesFilter: [], typesFilter: ["consumer"] }).groups).toEqual([]);
  expect(lab.coordinator.listGroups({ statesFilter: [], typesFilter: ["Classic"] }).groups).toHaveLength(1);
});
