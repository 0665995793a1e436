/**
 * What a group is (members, state, generation) and how a rebalance runs: everyone joins, one leader is named, the leader's
 * assignment is stored and handed out. What requests and timers do to it is in group.ts.
 * Invariants: generations only grow; every ticket is answered exactly once; in Stable each member holds the assignment of
 * the last stored sync.
 */
import type { KafkaErrorName } from "../base/kafka_error.ts";
import type { GroupOptions, GroupSnapshot, GroupState, JoinAnswer } from "./group_types.ts";
import { type Member, Membership, metadataOf, noBytes, type Ticket } from "./membership.ts";
import { Outbox, type PendingStore } from "./outbox.ts";
import { subscribedTopicsOf } from "./subscription.ts";

/** The protocol type of consumers, whose subscriptions the coordinator can read. */
const consumerProtocolType = "consumer";

const nothingPending: PendingStore = { stored() {}, failed() {} };

export class GroupCore {
  readonly groupId: string;
  readonly membership = new Membership();
  readonly outbox = new Outbox();
  state: GroupState = "Empty";
  generationId = 0;
  protocolName: string | undefined;
  /** Wall time of the last change of state, in milliseconds. */
  stateTimestampMs: number;
  /** Topics that the members subscribe to; undefined when that cannot be known. */
  subscribedTopics: ReadonlySet<string> | undefined;
  protected readonly options: GroupOptions;
  protected previousState: GroupState = "Dead";
  protected newMemberAdded = false;
  /** The leader's assignment of this generation that is being stored. */
  protected storing: object | undefined;
  private readonly wallMs: () => number;
  private initialDelay = { nextMs: 0, remainingMs: 0 };

  constructor(groupId: string, options: GroupOptions, wallMs: () => number) {
    this.groupId = groupId;
    this.options = options;
    this.wallMs = wallMs;
    this.stateTimestampMs = wallMs();
  }

  get protocolType(): string | undefined {
    return this.membership.protocolType;
  }

  // ---- The first half: joining

  protected rebalanceOrCompleteJoin(): void {
    if (this.state === "PreparingRebalance") this.completeJoinIfAll();
    else this.prepareRebalance();
  }

  protected prepareRebalance(): void {
    if (this.state === "CompletingRebalance") this.spreadError("REBALANCE_IN_PROGRESS");
    this.membership.pendingSync.clear();
    this.outbox.stopTimer("sync");
    this.storing = undefined;
    const initial = this.state === "Empty";
    this.moveTo("PreparingRebalance");
    if (initial) this.startInitialDelay();
    else if (this.membership.allJoined) this.completeJoin();
    else this.outbox.startTimer("join", this.membership.rebalanceTimeoutMs);
  }

  protected completeJoinIfAll(): void {
    // The first rebalance of an empty group always waits for its delay.
    if (this.state !== "PreparingRebalance" || this.previousState === "Empty") return;
    if (this.membership.allJoined) this.completeJoin();
  }

  private startInitialDelay(): void {
    const delayMs = this.options.initialRebalanceDelayMs;
    this.newMemberAdded = false;
    this.initialDelay = { nextMs: delayMs, remainingMs: Math.max(this.membership.rebalanceTimeoutMs - delayMs, 0) };
    this.outbox.startTimer("join", delayMs);
  }

  /** The join timer fired: an initial delay is prolonged while members keep arriving, up to the rebalance timeout. */
  protected joinTimeUp(): void {
    const { nextMs, remainingMs } = this.initialDelay;
    if (this.previousState !== "Empty" || !this.newMemberAdded || remainingMs === 0) {
      this.completeJoin();
      return;
    }
    this.newMemberAdded = false;
    this.initialDelay = {
      nextMs: Math.min(this.options.initialRebalanceDelayMs, remainingMs),
      remainingMs: Math.max(remainingMs - nextMs, 0),
    };
    this.outbox.startTimer("join", this.initialDelay.nextMs);
  }

  protected completeJoin(): void {
    const { membership } = this;
    this.outbox.stopTimer("join");
    for (const member of [...membership.members.values()]) {
      if (member.joinTicket === undefined && member.groupInstanceId === null) this.forget(member);
    }
    if (!membership.electJoinedLeader() && membership.size > 0) {
      // Only absent static members are left: their sessions decide.
      this.outbox.startTimer("join", membership.rebalanceTimeoutMs);
      return;
    }
    this.generationId++;
    membership.pendingSync.clear();
    this.protocolName = membership.selectProtocol();
    this.subscribedTopics = this.readSubscriptions();
    if (membership.size === 0) {
      this.moveTo("Empty");
      this.outbox.store(this.snapshot(), nothingPending);
      return;
    }
    this.moveTo("CompletingRebalance");
    for (const member of membership.members.values()) {
      this.endJoin(member, this.joinedAnswer(member, membership.leaderId === member.memberId));
      this.startSession(member);
      member.isNew = false;
      membership.pendingSync.add(member.memberId);
    }
    this.outbox.startTimer("sync", membership.rebalanceTimeoutMs);
  }

  // ---- The second half: syncing

  /** Stores the leader's assignment and hands it out once durable. A group that moved on meanwhile ignores the outcome. */
  protected storeAssignment(given: readonly { memberId: string; assignment: Uint8Array }[]): void {
    const assignment = new Map<string, Uint8Array>(given.map((one) => [one.memberId, one.assignment.slice()]));
    const current = {};
    this.storing = current;
    this.outbox.store(this.snapshot(assignment), {
      stored: () => {
        if (this.storing !== current) return;
        this.storing = undefined;
        for (const member of this.membership.members.values()) {
          member.assignment = assignment.get(member.memberId) ?? noBytes;
          if (this.endSync(member, "NONE")) this.startSession(member);
        }
        this.moveTo("Stable");
      },
      failed: (error) => {
        if (this.storing !== current) return;
        this.storing = undefined;
        this.spreadError(error);
        this.rebalanceOrCompleteJoin();
      },
    });
  }

  /** Those who wait for their assignment get an error instead and must join again. */
  private spreadError(error: KafkaErrorName): void {
    for (const member of this.membership.members.values()) {
      member.assignment = noBytes;
      if (this.endSync(member, error)) this.startSession(member);
    }
  }

  // ---- Persistence

  /** The group as it must come back after a restart, with the given or the present assignment. */
  snapshot(assignment?: ReadonlyMap<string, Uint8Array>): GroupSnapshot {
    return {
      protocolType: this.protocolType ?? "",
      generation: this.generationId,
      protocol: this.protocolName ?? null,
      leader: this.membership.leaderId ?? null,
      stateTimestampMs: this.stateTimestampMs,
      members: [...this.membership.members.values()].map((member) => ({
        memberId: member.memberId,
        groupInstanceId: member.groupInstanceId,
        clientId: member.clientId,
        clientHost: member.clientHost,
        sessionTimeoutMs: member.sessionTimeoutMs,
        rebalanceTimeoutMs: member.rebalanceTimeoutMs,
        subscription: metadataOf(member, this.protocolName),
        assignment: assignment ? (assignment.get(member.memberId) ?? noBytes) : member.assignment,
      })),
    };
  }

  /** Takes over a stored group: stable if it had members, whose sessions begin with `startSessions`. */
  protected load(snapshot: GroupSnapshot): void {
    const { membership } = this;
    for (const { subscription, ...stored } of snapshot.members) {
      const protocols = [{ name: snapshot.protocol ?? "", metadata: subscription }];
      const idle = { isNew: false, joinTicket: undefined, syncTicket: undefined };
      membership.add({ ...stored, ...idle, protocols });
    }
    if (snapshot.leader !== null && membership.members.has(snapshot.leader)) membership.leaderId = snapshot.leader;
    membership.protocolType = snapshot.protocolType === "" ? undefined : snapshot.protocolType;
    this.state = snapshot.members.length > 0 ? "Stable" : "Empty";
    this.generationId = snapshot.generation;
    this.protocolName = snapshot.protocol ?? undefined;
    this.stateTimestampMs = snapshot.stateTimestampMs;
    this.subscribedTopics = this.readSubscriptions();
  }

  /** Begins every member's session anew: called once after a restart. */
  startSessions(): void {
    for (const member of this.membership.members.values()) this.startSession(member);
  }

  /** Whether offsets of this topic are in use: an unknown subscription of a consumer group counts as using it. */
  isSubscribedTo(topic: string): boolean {
    return this.subscribedTopics?.has(topic) ?? this.isConsumerGroup;
  }

  get isConsumerGroup(): boolean {
    return this.protocolType === consumerProtocolType;
  }

  private readSubscriptions(): ReadonlySet<string> | undefined {
    if (!this.isConsumerGroup) return undefined;
    const topics = new Set<string>();
    for (const member of this.membership.members.values()) {
      const subscribed = subscribedTopicsOf(metadataOf(member, this.protocolName));
      if (!subscribed) return undefined;
      for (const topic of subscribed) topics.add(topic);
    }
    return topics;
  }

  // ---- Small tools

  /** Drops a member; whoever it left waiting is told that it is not known any more. */
  protected forget(member: Member): void {
    this.outbox.stopTimer(`member:${member.memberId}`);
    this.endJoin(member, refusedJoin("UNKNOWN_MEMBER_ID", ""));
    this.endSync(member, "UNKNOWN_MEMBER_ID");
    this.membership.remove(member.memberId);
  }

  protected moveTo(state: GroupState): void {
    this.previousState = this.state;
    this.state = state;
    this.stateTimestampMs = this.wallMs();
  }

  protected startSession(member: Member): void {
    this.outbox.startTimer(`member:${member.memberId}`, member.sessionTimeoutMs);
  }

  protected joinedAnswer(member: Member, withMembers: boolean): JoinAnswer {
    const members = withMembers ? [...this.membership.members.values()] : [];
    return {
      error: "NONE",
      memberId: member.memberId,
      generationId: this.generationId,
      protocolType: this.protocolType ?? null,
      protocolName: this.protocolName ?? null,
      leader: this.membership.leaderId ?? "",
      skipAssignment: false,
      members: members.map((other) => ({
        memberId: other.memberId,
        groupInstanceId: other.groupInstanceId,
        metadata: metadataOf(other, this.protocolName),
      })),
    };
  }

  protected endJoin(member: Member, answer: JoinAnswer): void {
    if (member.joinTicket === undefined) return;
    this.outbox.answerJoin(member.joinTicket, answer);
    member.joinTicket = undefined;
  }

  /** True when the member was waiting. */
  protected endSync(member: Member, error: KafkaErrorName): boolean {
    if (member.syncTicket === undefined) return false;
    this.answerSync(member.syncTicket, error, error === "NONE" ? member.assignment : noBytes);
    member.syncTicket = undefined;
    return true;
  }

  protected answerSync(ticket: Ticket, error: KafkaErrorName, assignment: Uint8Array = noBytes): void {
    const granted = error === "NONE";
    this.outbox.answerSync(ticket, {
      error,
      protocolType: granted ? (this.protocolType ?? null) : null,
      protocolName: granted ? (this.protocolName ?? null) : null,
      assignment,
    });
  }
}

/** A join that brings no generation. */
export function refusedJoin(error: KafkaErrorName, memberId: string): JoinAnswer {
  return {
    error,
    memberId,
    generationId: -1,
    protocolType: null,
    protocolName: null,
    leader: "",
    skipAssignment: false,
    members: [],
  };
}
