/**
 * Random schedules against the group state machine: requests, timers and writes in any order, from a printed seed. After each
 * step the invariants hold, and at the end nobody is left waiting.
 */
import { expect, test } from "bun:test";
import { Group } from "../../src/groups/group.ts";
import type { GroupSnapshot, JoinAnswer, JoinInput, SyncAnswer, TimerName } from "../../src/groups/group_types.ts";
import { SeededRandom } from "../../src/platform/sim/random.ts";
import { bytes, subscription, text } from "./helpers.ts";

const options = { initialRebalanceDelayMs: 500, newMemberJoinTimeoutMs: 300_000, membersMax: 6 };

function randomFrom(seed: number): (max: number) => number {
  const source = new SeededRandom(seed);
  return (max) => source.below(max);
}

class Schedule {
  readonly random: (max: number) => number;
  now = 0;
  readonly group: Group;
  readonly timers = new Map<TimerName, number>();
  readonly stores: { storeId: number; snapshot: GroupSnapshot }[] = [];
  readonly asked = new Set<number>();
  readonly answered = new Set<number>();
  /** What clients know: generation and leader by member id. */
  readonly known = new Map<string, { generation: number; leads: boolean; instance: string | null }>();
  readonly promised: string[] = [];
  /** The assignment of the last sync that became durable, by member id. */
  assignment = new Map<string, string>();
  private tickets = 0;
  private ids = 0;
  private steps = 0;

  constructor(seed: number) {
    this.random = randomFrom(seed);
    this.group = new Group("g", options, () => this.now);
  }

  step(): void {
    const before = { generation: this.group.generationId, members: [...this.group.membership.members.keys()] };
    const excused = this.act();
    this.drain();
    this.check(before, excused);
  }

  /** Does something; returns the ids of members that it may remove, or "any". */
  private act(): string[] | "any" {
    const members = [...this.known.keys()];
    const pick = members[this.random(members.length || 1)];
    const knowledge = pick === undefined ? undefined : this.known.get(pick)!;
    switch (this.random(12)) {
      case 0:
      case 1:
        return this.joinNew();
      case 2: {
        const memberId = this.promised[this.random(this.promised.length || 1)];
        if (memberId === undefined) return [];
        this.join({ memberId, groupInstanceId: null });
        return [memberId];
      }
      case 3:
      case 4:
        if (pick === undefined || !knowledge) return [];
        this.join({ memberId: pick, groupInstanceId: knowledge.instance });
        return [pick];
      case 5:
      case 6:
        if (pick === undefined || !knowledge) return [];
        this.sync(pick, knowledge);
        return [];
      case 7:
        if (pick !== undefined && knowledge)
          this.group.heartbeat(pick, knowledge.instance, knowledge.generation - this.random(2));
        return [];
      case 8: {
        const leaving = [pick ?? "nobody", this.promised[0] ?? "nobody"].slice(0, 1 + this.random(2));
        if (this.random(3) === 0) this.group.leave(leaving.map((memberId) => ({ memberId, groupInstanceId: null })));
        return leaving;
      }
      case 9:
        return this.settleStore();
      default:
        return this.letTimePass(this.random(2) === 0 ? this.random(300) : this.random(4_000));
    }
  }

  private input(from: Pick<JoinInput, "memberId" | "groupInstanceId">): JoinInput {
    const range = { name: "range", metadata: subscription("t", `u${this.random(2)}`) };
    const sticky = { name: "sticky", metadata: bytes("s") };
    return {
      ...from,
      newMemberId: `m${++this.ids}`,
      clientId: "c",
      clientHost: "/h",
      sessionTimeoutMs: 2_000 + 1_000 * this.random(3),
      rebalanceTimeoutMs: 3_000 + 1_000 * this.random(3),
      protocolType: "consumer",
      protocols: [[range, sticky], [sticky, range], [range]][this.random(3)]!,
      memberIdRequired: this.random(2) === 0,
      skipAssignmentKnown: this.random(2) === 0,
    };
  }

  private join(from: Pick<JoinInput, "memberId" | "groupInstanceId">): void {
    const ticket = ++this.tickets;
    this.asked.add(ticket);
    this.group.join(this.input(from), ticket);
  }

  private joinNew(): string[] {
    const groupInstanceId = this.random(2) === 0 ? null : `i${this.random(3)}`;
    const replaced = groupInstanceId === null ? undefined : this.group.membership.staticMemberId(groupInstanceId);
    this.join({ memberId: "", groupInstanceId });
    return replaced === undefined ? [] : [replaced];
  }

  private sync(memberId: string, knowledge: { generation: number; leads: boolean; instance: string | null }): void {
    const ticket = ++this.tickets;
    this.asked.add(ticket);
    const step = ++this.steps;
    const assignments = knowledge.leads
      ? [...this.group.membership.members.keys()].map((id) => ({ memberId: id, assignment: bytes(`${id}@${step}`) }))
      : [];
    const { generation, instance } = knowledge;
    const protocolName = this.random(5) === 0 ? "range" : null;
    const asked = {
      memberId,
      groupInstanceId: instance,
      generationId: generation,
      protocolType: "consumer",
      protocolName,
    };
    this.group.sync({ ...asked, assignments }, ticket);
  }

  private settleStore(): string[] | "any" {
    const store = this.stores.shift();
    if (!store) return [];
    const failed = this.random(8) === 0;
    const before = this.group.state;
    // A write that fails may undo a static member's return, or send everyone back to joining.
    this.group.stored(store.storeId, failed ? "NOT_COORDINATOR" : undefined);
    if (before === "CompletingRebalance" && this.group.state === "Stable") {
      this.assignment = new Map(store.snapshot.members.map((member) => [member.memberId, text(member.assignment)]));
    }
    return failed ? "any" : [];
  }

  /** Fires what falls due within `ms`; the timers say who may be removed by it. */
  private letTimePass(ms: number): string[] | "any" {
    const end = this.now + ms;
    const excused: string[] = [];
    let everyone = false;
    for (;;) {
      const [due] = [...this.timers].filter(([, at]) => at <= end).sort(([, a], [, b]) => a - b);
      if (!due) break;
      this.timers.delete(due[0]);
      this.now = Math.max(this.now, due[1]);
      if (due[0] === "join" || due[0] === "sync") everyone = true;
      else excused.push(due[0].slice("member:".length));
      this.group.timerFired(due[0]);
      this.drain();
    }
    this.now = end;
    return everyone ? "any" : excused;
  }

  private drain(): void {
    let leaders = 0;
    let joined = 0;
    for (const event of this.group.takeEvents()) {
      if (event.kind === "startTimer") this.timers.set(event.timer, this.now + event.delayMs);
      else if (event.kind === "stopTimer") this.timers.delete(event.timer);
      else if (event.kind === "store") this.stores.push({ storeId: event.storeId, snapshot: event.snapshot });
      else {
        expect(this.asked.has(event.ticket)).toBe(true);
        expect(this.answered.has(event.ticket)).toBe(false);
        this.answered.add(event.ticket);
        if (event.kind === "answerJoin") {
          if (event.answer.error === "NONE") joined++;
          if (event.answer.members.length > 0) leaders++;
          this.learnJoin(event.answer);
        } else this.learnSync(event.answer);
      }
    }
    // A rebalance that ends tells exactly one member that it leads.
    if (joined > 1) expect(leaders).toBe(1);
  }

  private learnJoin(answer: JoinAnswer): void {
    if (answer.error === "MEMBER_ID_REQUIRED") this.promised.push(answer.memberId);
    if (answer.error !== "NONE") return;
    const instance = this.group.membership.members.get(answer.memberId)?.groupInstanceId ?? null;
    expect(answer.generationId).toBe(this.group.generationId);
    this.known.set(answer.memberId, { generation: answer.generationId, leads: answer.members.length > 0, instance });
    if (this.known.size > 12) this.known.delete(this.known.keys().next().value!);
    if (this.promised.length > 4) this.promised.shift();
  }

  private learnSync(answer: SyncAnswer): void {
    if (answer.error !== "NONE") expect(answer.assignment).toHaveLength(0);
  }

  private check(before: { generation: number; members: string[] }, excused: string[] | "any"): void {
    const { group } = this;
    const { members, pendingJoin, pendingSync, leaderId } = group.membership;
    expect(group.generationId).toBeGreaterThanOrEqual(before.generation);
    // Static members stay without joining again; and while a rebalance is prepared only those who did join again count.
    const statics = 3;
    const slack = group.state === "PreparingRebalance" ? options.membersMax + statics : statics;
    expect(members.size).toBeLessThanOrEqual(options.membersMax + slack);
    if (group.state === "PreparingRebalance")
      expect(group.membership.waiting).toBeLessThanOrEqual(options.membersMax + statics);
    if (members.size > 0) expect(members.has(leaderId!)).toBe(true);
    else expect(leaderId).toBeUndefined();
    for (const memberId of before.members) {
      // Members that did not rejoin are dropped when a rebalance ends, whatever ended it.
      const rebalanced = group.generationId > before.generation;
      if (!members.has(memberId) && excused !== "any" && !rebalanced) expect(excused).toContain(memberId);
    }
    for (const memberId of pendingJoin) {
      expect(members.has(memberId)).toBe(false);
      expect(this.timers.has(`member:${memberId}`)).toBe(true);
    }
    for (const memberId of pendingSync) expect(members.has(memberId)).toBe(true);
    expect(pendingSync.size === 0 || this.timers.has("sync")).toBe(true);
    if (group.state === "PreparingRebalance") expect(this.timers.has("join")).toBe(true);
    if (group.state === "Empty") expect(members.size).toBe(0);
    for (const member of members.values()) {
      const waits = member.joinTicket !== undefined || member.syncTicket !== undefined;
      expect(waits || this.timers.has(`member:${member.memberId}`)).toBe(true);
      if (member.isNew) expect(this.timers.has(`member:${member.memberId}`)).toBe(true);
      if (group.state === "Stable") this.checkStable(member.memberId, text(member.assignment));
    }
  }

  /** In a stable group everyone holds the last sync's assignment; a returned static member holds its former self's. */
  private checkStable(memberId: string, assignment: string): void {
    const given = this.assignment.get(memberId);
    if (given !== undefined) expect(assignment).toBe(given);
    else expect(assignment === "" || [...this.assignment.values()].includes(assignment)).toBe(true);
    const synced = this.group.membership.members.get(memberId)!.syncTicket === undefined;
    expect(synced).toBe(true);
  }

  /** No more requests: writes finish and time passes until nothing is due. */
  finish(): void {
    for (let round = 0; round < 50; round++) {
      while (this.stores.length > 0) {
        const store = this.stores.shift()!;
        this.group.stored(store.storeId);
        this.drain();
      }
      this.letTimePass(400_000);
    }
    expect(this.group.state).toBe("Empty");
    expect(this.timers.size).toBe(0);
    expect([...this.asked].filter((ticket) => !this.answered.has(ticket))).toEqual([]);
  }
}

test("random schedules keep every invariant", () => {
  const base = Number(process.env.ROWLOG_SEED ?? 1);
  const reached = new Set<string>();
  for (let seed = base; seed < base + 400; seed++) {
    const schedule = new Schedule(seed);
    try {
      for (let step = 0; step < 250; step++) {
        schedule.step();
        reached.add(schedule.group.state);
      }
      schedule.finish();
    } catch (error) {
      console.error(`seed ${seed} failed; run it alone with ROWLOG_SEED=${seed}\n${(error as Error).stack}`);
      throw error;
    }
  }
  expect([...reached].sort()).toEqual(["CompletingRebalance", "Empty", "PreparingRebalance", "Stable"]);
});

test("closing answers whoever waits, in any state", () => {
  for (let seed = 1; seed <= 200; seed++) {
    const schedule = new Schedule(seed * 7_919);
    for (let step = 0; step < 20 + (seed % 60); step++) schedule.step();
    schedule.group.close("NOT_COORDINATOR");
    for (const event of schedule.group.takeEvents()) {
      if (event.kind === "startTimer") schedule.timers.set(event.timer, 0);
      if (event.kind === "stopTimer") schedule.timers.delete(event.timer);
      if (event.kind === "answerJoin" || event.kind === "answerSync") schedule.answered.add(event.ticket);
    }
    expect([...schedule.asked].filter((ticket) => !schedule.answered.has(ticket))).toEqual([]);
    expect(schedule.timers.size).toBe(0);
  }
});

test("a static member whose return is stored only after its session ran out has a session again", () => {
  const group = new Group("g", options, () => 0);
  const join = (newMemberId: string, ticket: number) =>
    group.join(
      {
        ...{
          memberId: "",
          groupInstanceId: "i",
          newMemberId,
          clientId: "c",
          clientHost: "/h",
          protocolType: "consumer",
        },
        ...{ sessionTimeoutMs: 2_000, rebalanceTimeoutMs: 3_000, memberIdRequired: false, skipAssignmentKnown: true },
        protocols: [{ name: "range", metadata: subscription("t", "u") }],
      },
      ticket,
    );
  const storeOf = () => group.takeEvents().find((event) => event.kind === "store")!.storeId;
  join("first", 1);
  group.timerFired("join");
  const { generationId } = group;
  const member = {
    memberId: "first",
    groupInstanceId: "i",
    generationId,
    protocolType: "consumer",
    protocolName: "range",
  };
  group.sync({ ...member, assignments: [{ memberId: "first", assignment: bytes("all") }] }, 2);
  group.stored(storeOf());
  expect(group.state).toBe("Stable");
  group.takeEvents();

  join("second", 3);
  const storeId = storeOf();
  group.timerFired("member:second");
  expect(group.takeEvents()).toEqual([]);
  group.stored(storeId);
  const events = group.takeEvents();
  expect(events.find((event) => event.kind === "answerJoin")).toMatchObject({ ticket: 3, answer: { error: "NONE" } });
  expect(events).toContainEqual({ kind: "startTimer", timer: "member:second", delayMs: 2_000 });
});
